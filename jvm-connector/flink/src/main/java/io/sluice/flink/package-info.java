/** The Flink connector: catalog, sources, sinks and lookups over {@code io.sluice.store}. */
package io.sluice.flink;
