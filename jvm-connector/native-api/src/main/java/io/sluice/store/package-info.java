/**
 * The engine as Java sees it: open a store, write columns, scan rows, look keys up.
 *
 * <p>Knows nothing of Flink. Pointers and {@code native} methods stay inside this package.
 */
package io.sluice.store;
