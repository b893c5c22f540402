package io.sluice.flink.catalog;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.Map;

import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.api.ValidationException;
import org.apache.flink.table.catalog.Column;
import org.apache.flink.table.catalog.ResolvedSchema;
import org.apache.flink.table.catalog.TableChange;
import org.apache.flink.table.catalog.UniqueConstraint;
import org.apache.flink.table.catalog.WatermarkSpec;
import org.apache.flink.table.expressions.FieldReferenceExpression;
import org.junit.jupiter.api.Test;

/** ALTER TABLE as the store takes it, without a store. */
final class TableChangesTest {
  private static final Column TS = Column.physical("ts", DataTypes.TIMESTAMP(3));
  private static final WatermarkSpec WATERMARK =
      WatermarkSpec.of("ts", new FieldReferenceExpression("ts", DataTypes.TIMESTAMP(3), 0, 0));

  private static String json(ResolvedSchema schema, Map<String, String> stored, TableChange... changes) {
    return TableChanges.toJson(List.of(changes), schema, stored).toString().replace('"', '\'');
  }

  private static String json(TableChange... changes) {
    return json(ResolvedSchema.of(TS), Map.of(), changes);
  }

  @Test
  void optionsAreSetAndTakenBackInOrder() {
    assertThat(json(TableChange.set("table.log.ttl", "1d"), TableChange.reset("my.own")))
        .isEqualTo("[{'set':{'key':'table.log.ttl','value':'1d'}},{'reset':{'key':'my.own'}}]");
  }

  @Test
  void columnsAreAddedAtTheEnd() {
    Column column = Column.physical("c", DataTypes.INT()).withComment("new");
    assertThat(json(TableChange.add(column)))
        .isEqualTo("[{'add_column':{'column':{'name':'c','data_type':{'type':'INTEGER'},'comment':'new'}}}]");
    assertThatThrownBy(() -> json(TableChange.add(column, TableChange.ColumnPosition.first())))
        .isInstanceOf(UnsupportedOperationException.class)
        .hasMessage("Only support addColumn column at last: add 'c' without FIRST or AFTER.");
    assertThatThrownBy(() -> json(TableChange.add(column, TableChange.ColumnPosition.after("ts")))).hasMessageContaining("at last");
    assertThatThrownBy(() -> json(TableChange.add(Column.physical("v", DataTypes.VARCHAR(3))))).hasMessageContaining("'v'");
    assertThatThrownBy(() -> json(TableChange.add(Column.computed("x", WATERMARK.getWatermarkExpression()))))
        .hasMessageContaining("'x' is computed");
  }

  @Test
  void aWatermarkIsKeptAsProperties() {
    ResolvedSchema with = new ResolvedSchema(List.of(TS), List.of(WATERMARK), null);
    assertThat(json(with, Map.of("my.own", "x"), TableChange.add(WATERMARK)))
        .isEqualTo(
            "[{'set':{'key':'schema.watermark.0.rowtime','value':'ts'}},"
                + "{'set':{'key':'schema.watermark.0.strategy.data-type','value':'TIMESTAMP(3)'}},"
                + "{'set':{'key':'schema.watermark.0.strategy.expr','value':'`ts`'}}]");
    Map<String, String> stored = SchemaProperties.of(with);
    assertThat(json(with, stored, TableChange.modify(WATERMARK))).isEqualTo("[]");
    assertThat(json(ResolvedSchema.of(TS), stored, TableChange.dropWatermark()))
        .contains("'reset':{'key':'schema.watermark.0.rowtime'}")
        .contains("'reset':{'key':'schema.watermark.0.strategy.expr'}")
        .contains("'reset':{'key':'schema.watermark.0.strategy.data-type'}")
        .doesNotContain("set':{'key':'schema.watermark.0.rowtime','value'");
  }

  @Test
  void otherChangesAreRefused() {
    Map<String, TableChange> changes =
        Map.of(
            "Dropping column 'ts'", TableChange.dropColumn("ts"),
            "Renaming column 'ts'", TableChange.modifyColumnName(TS, "u"),
            "Changing the type of column 'ts'", TableChange.modifyPhysicalColumnType(TS, DataTypes.TIMESTAMP(6)),
            "Changing the comment of column 'ts'", TableChange.modifyColumnComment(TS, "x"),
            "Moving column 'ts'", TableChange.modifyColumnPosition(TS, TableChange.ColumnPosition.first()));
    changes.forEach(
        (what, change) ->
            assertThatThrownBy(() -> json(change))
                .isInstanceOf(UnsupportedOperationException.class)
                .hasMessageStartingWith(what + " is not supported yet"));
    for (TableChange change :
        List.of(
            TableChange.add(UniqueConstraint.primaryKey("pk", List.of("ts"))),
            TableChange.dropConstraint("pk"),
            TableChange.dropDistribution())) {
      assertThatThrownBy(() -> json(change))
          .isInstanceOf(UnsupportedOperationException.class)
          .hasMessageStartingWith("Unsupported flink table change ");
    }
  }

  @Test
  void badAndReservedOptionsAreRefused() {
    assertThatThrownBy(() -> json(TableChange.set("scan.startup.mode", "never")))
        .isInstanceOf(ValidationException.class)
        .hasMessageContaining("'scan.startup.mode'");
    assertThatThrownBy(() -> json(TableChange.set("schema.3.name", "x"))).isInstanceOf(ValidationException.class);
    assertThatThrownBy(() -> json(TableChange.reset("schema.watermark.0.rowtime"))).isInstanceOf(ValidationException.class);
    assertThatThrownBy(() -> json(TableChange.set("connector", "kafka"))).hasMessageContaining("'connector'");
  }
}
