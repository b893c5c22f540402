package io.sluice.flink.tiering;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.DeploymentOptions;
import org.junit.jupiter.api.Test;

/** The command line of the tiering job. */
final class TieringSettingsTest {
  @Test
  void optionsAreWrittenWithAndWithoutASpace() {
    TieringSettings settings =
        TieringSettings.parse("-D", "fluss.bootstrap.servers=a:9123,b:9123", "-Dfluss.client.id=x=y", "-D", "database=fluss_\\w+");
    assertThat(settings.connection()).containsEntry("bootstrap.servers", "a:9123,b:9123").containsEntry("client.id", "x=y").hasSize(2);
    assertThat(settings.databases().matcher("fluss_a").matches()).isTrue();
    assertThat(settings.databases().matcher("my_fluss_a").matches()).isFalse();
    assertThat(settings.isEmbedded()).isFalse();
  }

  @Test
  void withoutOptionsAllDatabasesOfTheServerBesideAreMeant() {
    TieringSettings settings = TieringSettings.parse();
    assertThat(settings.servers()).isEqualTo("localhost:9123");
    assertThat(settings.databases().matcher("anything").matches()).isTrue();
  }

  @Test
  void optionsOfTheLakeReachAnEmbeddedStore() {
    TieringSettings settings = TieringSettings.parse("-D", "fluss.bootstrap.servers=embedded:/s", "-D", "datalake.paimon.warehouse=/w");
    assertThat(settings.isEmbedded()).isTrue();
    assertThat(settings.connection()).containsEntry("datalake.paimon.warehouse", "/w");
  }

  @Test
  void whatIsNoOptionIsRefusedByName() {
    refused("'--database' is not an option", "--database", "x");
    refused("'-D database' is not an option", "-D", "database");
    refused("'-D ' is not an option", "-D");
    refused("There is no option 'databse'", "-D", "databse=x");
    refused("Option 'database' is not a regular expression", "-D", "database=(");
  }

  private static void refused(String message, String... arguments) {
    assertThatThrownBy(() -> TieringSettings.parse(arguments)).isInstanceOf(IllegalArgumentException.class).hasMessageContaining(message);
  }

  @Test
  void anEmbeddedStoreIsRefusedOnACluster() {
    TieringSettings embedded = TieringSettings.parse("-Dfluss.bootstrap.servers=embedded:/s");
    Configuration remote = new Configuration();
    remote.set(DeploymentOptions.TARGET, "remote");
    assertThatThrownBy(() -> TieringJob.checkPlace(embedded, remote))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("'embedded:/s'")
        .hasMessageContaining("execution.target: remote");
    TieringJob.checkPlace(embedded, new Configuration());
    TieringJob.checkPlace(TieringSettings.parse(), remote);
  }
}
