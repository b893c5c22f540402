package io.sluice.flink.tiering;

import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.DeploymentOptions;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.configuration.RestartStrategyOptions;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;

/**
 * The job that brings rows into the lake: {@code bin/lakehouse.sh} submits it. It keeps no state of its own, for the lake says how far it
 * is: a job that was killed is started again, with or without a savepoint, and goes on.
 */
public final class TieringJob {
  private TieringJob() {}

  /**
   * Submits the job, or runs it, as the environment says.
   *
   * @param arguments those of {@link TieringSettings#parse}
   */
  public static void main(String[] arguments) throws Exception {
    TieringSettings settings = TieringSettings.parse(arguments);
    StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment();
    checkPlace(settings, environment.getConfiguration());
    define(environment, settings);
    environment.execute("Tiering of " + settings.servers());
  }

  /** A directory belongs to one process, and on a cluster the job is several. */
  static void checkPlace(TieringSettings settings, ReadableConfig configuration) {
    String target = configuration.getOptional(DeploymentOptions.TARGET).orElse("local");
    if (settings.isEmbedded() && !target.equals("local")) {
      throw new IllegalArgumentException("Option 'fluss.bootstrap.servers' = '" + settings.servers() + "' needs the job in the process that has"
          + " the store (execution.target: local), but this is submitted to a cluster (execution.target: " + target
          + "). Start a server over the directory and name it as host:port, or let the engine tier by itself with 'datalake.tiering' = 'embedded'.");
    }
  }

  /** Adds the job to an environment. */
  public static void define(StreamExecutionEnvironment environment, TieringSettings settings) {
    if (environment.getConfiguration().getOptional(RestartStrategyOptions.RESTART_STRATEGY).isEmpty()) {
      // Without checkpoints Flink would let the first lost machine end it.
      Configuration restarts = new Configuration();
      restarts.set(RestartStrategyOptions.RESTART_STRATEGY, "exponential-delay");
      environment.configure(restarts);
    }
    environment.fromSource(new TieringSource(settings), WatermarkStrategy.noWatermarks(), "Tiering")
        .uid("tiering")
        .sinkTo(new DiscardingSink<>())
        .uid("rows")
        .name("Rows brought");
  }
}
