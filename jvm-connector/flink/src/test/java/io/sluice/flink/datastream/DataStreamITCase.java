package io.sluice.flink.datastream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import io.sluice.flink.FlinkSession;
import io.sluice.flink.StoreAddress;
import io.sluice.flink.sink.RowDataSerializationSchema;
import io.sluice.flink.sink.RowWithOp;
import io.sluice.flink.sink.TableSerializationSchema;
import io.sluice.flink.source.record.RowDataDeserializationSchema;
import io.sluice.flink.source.record.TableDeserializationSchema;
import io.sluice.flink.source.record.TableRecord;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.serialization.DeserializationSchema;
import org.apache.flink.api.common.serialization.SerializationSchema;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.testutils.MiniClusterResourceConfiguration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.ProcessFunction;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.test.junit5.MiniClusterExtension;
import org.apache.flink.types.RowKind;
import org.apache.flink.util.CloseableIterator;
import org.apache.flink.util.Collector;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Source and sink as a DataStream job has them. Tables are made and, where that says more, read in SQL. */
final class DataStreamITCase {
  @RegisterExtension
  static final MiniClusterExtension CLUSTER =
      new MiniClusterExtension(
          new MiniClusterResourceConfiguration.Builder().setNumberTaskManagers(1).setNumberSlotsPerTaskManager(4).build());

  private static final AtomicInteger FAILURES_LEFT = new AtomicInteger();

  @TempDir Path directory;
  private FlinkSession sql;
  private StreamExecutionEnvironment jobs;

  /** A value that is no row. */
  public static final class Order {
    public int id;
    public String item;
    public Long amount;
    public boolean gone;

    public Order() {}

    Order(int id, String item, Long amount, boolean gone) {
      this.id = id;
      this.item = item;
      this.amount = amount;
      this.gone = gone;
    }
  }

  /** Orders as rows; counts on being opened with the table's columns. */
  private static final class OrderSchema implements TableSerializationSchema<Order> {
    private static final long serialVersionUID = 1L;
    private transient RowType columns;

    @Override
    public void open(SerializationSchema.InitializationContext context, RowType rowType) {
      columns = rowType;
    }

    @Override
    public RowWithOp serialize(Order order) {
      GenericRowData row = new GenericRowData(columns.getFieldCount());
      row.setField(columns.getFieldIndex("id"), order.id);
      row.setField(columns.getFieldIndex("item"), StringData.fromString(order.item));
      row.setField(columns.getFieldIndex("amount"), order.amount);
      return new RowWithOp(row, order.gone ? RowWithOp.Op.DELETE : RowWithOp.Op.UPSERT);
    }
  }

  /** {@code kind id offset}, and whether the row has a time of commit. */
  private static final class Text implements TableDeserializationSchema<String> {
    private static final long serialVersionUID = 1L;
    private transient boolean opened;

    @Override
    public void open(DeserializationSchema.InitializationContext context) {
      context.getMetricGroup().counter("opened").inc();
      opened = context.getUserCodeClassLoader() != null;
    }

    @Override
    public String deserialize(TableRecord record) {
      assertThat(opened).isTrue();
      RowData row = record.row();
      String time = record.timestampMs() > 1_700_000_000_000L ? "at a time" : Long.toString(record.timestampMs());
      return row.getRowKind().shortString() + " " + row.getInt(0) + " " + record.offset() + " " + time;
    }

    @Override
    public TypeInformation<String> getProducedType(RowType rowType) {
      assertThat(rowType.getFieldNames()).startsWith("id");
      return Types.STRING;
    }
  }

  @BeforeEach
  void open() {
    FAILURES_LEFT.set(0);
    sql = FlinkSession.batch(directory.resolve("store"), 1);
    sql.run(
        "CREATE TABLE orders (id INT, item STRING, amount BIGINT, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket.num'='1')",
        "CREATE TABLE events (id INT, item STRING, amount BIGINT) WITH ('bucket.num'='1')");
    Configuration settings = new Configuration();
    settings.setString("restart-strategy.type", "fixed-delay");
    settings.setString("restart-strategy.fixed-delay.attempts", "3");
    settings.setString("restart-strategy.fixed-delay.delay", "100 ms");
    jobs = StreamExecutionEnvironment.getExecutionEnvironment(settings);
    jobs.setParallelism(1);
  }

  @AfterEach
  void nothingLeaks() throws Exception {
    sql.close();
    FlinkSession.assertNothingLeaks();
  }

  private <T> TableSource<T> source(String table, TableDeserializationSchema<T> schema) {
    return TableSource.<T>builder()
        .setBootstrapServers(StoreAddress.of(directory.resolve("store")))
        .setDatabase("fluss")
        .setTable(table)
        .setDeserializationSchema(schema);
  }

  private <T> TableSink<T> sink(String table, TableSerializationSchema<T> schema) {
    return TableSink.<T>builder()
        .setBootstrapServers(StoreAddress.of(directory.resolve("store")))
        .setDatabase("fluss")
        .setTable(table)
        .setSerializationSchema(schema);
  }

  private void write(TableSink<Order> sink, Order... orders) throws Exception {
    jobs.fromData(List.of(orders), TypeInformation.of(Order.class)).sinkTo(sink.build());
    jobs.execute();
  }

  private List<String> bounded(TableSource<String> source) throws Exception {
    List<String> found = new ArrayList<>();
    try (CloseableIterator<String> rows =
        jobs.fromSource(source.setBounded().build(), WatermarkStrategy.noWatermarks(), "bounded").executeAndCollect()) {
      rows.forEachRemaining(found::add);
    }
    return found;
  }

  private List<String> first(int count, TableSource<String> source) throws Exception {
    List<String> found = new ArrayList<>();
    try (CloseableIterator<String> rows =
        jobs.fromSource(source.build(), WatermarkStrategy.noWatermarks(), "stream").executeAndCollect()) {
      while (found.size() < count) {
        found.add(rows.next());
      }
    }
    return found;
  }

  @Test
  void objectsAreUpsertedAndDeletedAndReadAsChanges() throws Exception {
    write(
        sink("orders", new OrderSchema()),
        new Order(1, "cup", 3L, false),
        new Order(2, "pen", null, false),
        new Order(1, "jug", 4L, false),
        new Order(2, null, null, true));
    assertThat(sql.rows("SELECT * FROM orders")).containsExactly("+I[1, jug, 4]");
    assertThat(first(5, source("orders", new Text()).setStartingOffsets(StartingOffsets.earliest())))
        .containsExactly("+I 1 0 at a time", "+I 2 1 at a time", "-U 1 2 at a time", "+U 1 3 at a time", "-D 2 4 at a time");
    assertThat(bounded(source("orders", new Text()))).containsExactly("+I 1 -1 -1");
  }

  @Test
  void rowsAreAppendedAndReadWithSomeColumnsInAnyOrder() throws Exception {
    List<RowData> rows = IntStream.range(0, 50).mapToObj(DataStreamITCase::row).collect(Collectors.toList());
    TypeInformation<RowData> type = source("events", new RowDataDeserializationSchema()).build().getProducedType();
    jobs.fromData(rows, type)
        .sinkTo(sink("events", new RowDataSerializationSchema(true, false)).build());
    jobs.execute();
    assertThat(bounded(source("events", new Text())))
        .containsExactlyElementsOf(IntStream.range(0, 50).mapToObj(i -> "+I " + i + " " + i + " at a time").collect(Collectors.toList()));
    List<String> found = new ArrayList<>();
    try (CloseableIterator<RowData> read =
        jobs.fromSource(
                source("events", new RowDataDeserializationSchema()).setProjectedFields("amount", "id").setBounded().build(),
                WatermarkStrategy.noWatermarks(),
                "projected")
            .executeAndCollect()) {
      read.forEachRemaining(row -> found.add(row.getArity() + ":" + row.getLong(0) + "," + row.getInt(1)));
    }
    assertThat(found).hasSize(50).contains("2:7,7", "2:49,49");
  }

  private static RowData row(int i) {
    return GenericRowData.ofKind(RowKind.INSERT, i, StringData.fromString("item " + i), (long) i);
  }

  @Test
  void writersOfSomeColumnsLeaveTheOthers() throws Exception {
    write(sink("orders", new OrderSchema()).setPartialUpdateColumns("id", "item"), new Order(1, "cup", 99L, false));
    write(sink("orders", new OrderSchema()).setPartialUpdateColumns("id", "amount"), new Order(1, "none", 5L, false));
    write(sink("orders", new OrderSchema()).setPartialUpdateColumns("item", "id"), new Order(1, "jug", null, false));
    assertThat(sql.rows("SELECT * FROM orders")).containsExactly("+I[1, jug, 5]");
  }

  @Test
  void valuesCarryTheTimeOfTheirCommit() throws Exception {
    sql.run("INSERT INTO events VALUES (1, 'a', 1), (2, 'b', 2)");
    List<Long> times = new ArrayList<>();
    try (CloseableIterator<Long> found =
        jobs.fromSource(source("events", new Text()).setBounded().build(), WatermarkStrategy.forMonotonousTimestamps(), "timed")
            .process(
                new ProcessFunction<String, Long>() {
                  private static final long serialVersionUID = 1L;

                  @Override
                  public void processElement(String value, Context context, Collector<Long> out) {
                    out.collect(context.timestamp());
                  }
                })
            .executeAndCollect()) {
      found.forEachRemaining(times::add);
    }
    assertThat(times).hasSize(2).allMatch(time -> Math.abs(System.currentTimeMillis() - time) < 600_000);
    assertThat(first(0, source("events", new Text()).setStartingOffsets(StartingOffsets.latest()))).isEmpty();
    assertThat(bounded(source("events", new Text()).setStartingOffsets(StartingOffsets.timestamp(times.get(0))))).hasSize(2);
  }

  @Test
  void aJobThatFailsAndGoesOnWritesEachKeyAsItShouldBe() throws Exception {
    sql.run("INSERT INTO events SELECT id, 'x', 1 FROM (VALUES " + ids(0, 400) + ") AS v(id)");
    FAILURES_LEFT.set(2);
    jobs.enableCheckpointing(50);
    jobs.fromSource(source("events", new Ids()).setBounded().build(), WatermarkStrategy.noWatermarks(), "events")
        .map(
            id -> {
              Thread.sleep(2);
              if (id > 150 && FAILURES_LEFT.getAndDecrement() > 0) {
                throw new IllegalStateException("a failure on purpose");
              }
              return new Order(id, "seen", (long) id, false);
            })
        .returns(Order.class)
        .sinkTo(sink("orders", new OrderSchema()).build());
    jobs.execute();
    assertThat(FAILURES_LEFT.get()).isLessThanOrEqualTo(0);
    assertThat(sql.rows("SELECT COUNT(*), COUNT(DISTINCT id), SUM(amount), MIN(item), MAX(item) FROM orders"))
        .containsExactly("+I[400, 400, " + 399 * 200 + ", seen, seen]");
  }

  private static String ids(int from, int to) {
    return IntStream.range(from, to).mapToObj(i -> "(" + i + ")").collect(Collectors.joining(","));
  }

  /** The first column. */
  private static final class Ids implements TableDeserializationSchema<Integer> {
    private static final long serialVersionUID = 1L;

    @Override
    public Integer deserialize(TableRecord record) {
      return record.row().getInt(0);
    }

    @Override
    public TypeInformation<Integer> getProducedType(RowType rowType) {
      return Types.INT;
    }
  }

  @Test
  void whatIsMissingOrDoesNotFitIsSaidBeforeAJobStarts() {
    sql.run(
        "CREATE TABLE sums (id INT, n BIGINT, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket.num'='1',"
            + " 'table.merge-engine'='aggregation', 'fields.n.agg'='sum')");
    assertThatThrownBy(() -> TableSource.<RowData>builder().setDeserializationSchema(new RowDataDeserializationSchema()).build())
        .hasMessage("Bootstrap servers is required but not provided.");
    assertThatThrownBy(() -> source("events", new Text()).setDatabase(null).build())
        .hasMessage("Database is required but not provided.");
    assertThatThrownBy(() -> source("events", new Text()).setTable(" ").build())
        .hasMessage("Table name is required but not provided.");
    assertThatThrownBy(() -> source("events", null).build()).hasMessage("DeserializationSchema is required but not provided.");
    assertThatThrownBy(() -> source("nothing", new Text()).build()).hasMessageStartingWith("There is no table fluss.nothing in the store");
    assertThatThrownBy(() -> source("events", new Text()).setProjectedFields("id", "price").build())
        .hasMessage("Projected field 'price' not found in table schema: fluss.events has [id, item, amount].");
    assertThatThrownBy(() -> source("orders", new Text()).setStartingOffsets(StartingOffsets.latest()).setBounded().build())
        .hasMessageStartingWith("A bounded read of primary-key table fluss.orders requires full mode");
    assertThatThrownBy(() -> source("events", new Text()).setOption("scan.partition.discovery.interval", "often").build())
        .hasMessageContaining("The value 'often' of option 'scan.partition.discovery.interval' cannot be read");
    assertThatThrownBy(() -> sink("orders", null).build()).hasMessage("SerializationSchema is required but not provided.");
    assertThatThrownBy(() -> sink("orders", new OrderSchema()).setPartialUpdateColumns("id", "price").build())
        .hasMessageStartingWith("Column 'price' to be updated not found in table schema");
    assertThatThrownBy(() -> sink("orders", new OrderSchema()).setPartialUpdateColumns("item").build())
        .hasMessageContaining("primary key columns");
    assertThatThrownBy(() -> sink("events", new OrderSchema()).setPartialUpdateColumns("item").build())
        .hasMessageContaining("does not support partial updates");
    assertThatThrownBy(() -> sink("sums", new OrderSchema()).build()).hasMessageContaining("has the merge engine 'aggregation'");
  }

  @Test
  void aChangeThatTheTableCannotTakeFailsTheJobAndSaysWhy() {
    jobs = StreamExecutionEnvironment.getExecutionEnvironment();
    assertThatThrownBy(() -> write(sink("events", new OrderSchema()), new Order(1, "a", 1L, false)))
        .rootCause()
        .hasMessage(
            "Table fluss.events has no primary key, so its rows come with APPEND, but the serialization schema gave UPSERT.");
    TableSerializationSchema<Order> narrow = order -> new RowWithOp(GenericRowData.of(order.id), RowWithOp.Op.UPSERT);
    assertThatThrownBy(() -> write(sink("orders", narrow), new Order(1, "a", 1L, false)))
        .rootCause()
        .hasMessage("A row for table fluss.orders has 1 fields, but the table has 3 columns: [id, item, amount].");
  }
}
