package io.sluice.store;

import java.lang.ref.Cleaner;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongConsumer;

/**
 * A native object's number, given back exactly once: by {@link #close} or, when its owner was forgotten, by a cleaner that also logs
 * the leak. The number is a table entry with a generation, so a call that races with a close meets kind CLOSED and never freed memory.
 */
final class Handle implements AutoCloseable {
  private static final Cleaner CLEANER = Cleaner.create();

  private final Release release;
  private final Cleaner.Cleanable cleanable;

  /**
   * @param owner the object whose loss means the handle was forgotten
   * @param what a noun for messages, for example "table writer"
   * @param number what the native open call returned
   * @param free the native close call
   */
  Handle(Object owner, String what, long number, LongConsumer free) {
    this.release = new Release(what, number, free);
    this.cleanable = CLEANER.register(owner, release);
  }

  /** Returns the number, or throws kind CLOSED. */
  long get() {
    long number = release.number.get();
    if (number == 0) {
      throw new StoreException(ErrorKind.CLOSED, Subject.NONE, "this " + release.what + " is closed; open a new one", null);
    }
    return number;
  }

  @Override
  public void close() {
    release.forgotten = false;
    cleanable.clean();
  }

  /** Holds no reference to the owner: else the owner could never be found lost. */
  private static final class Release implements Runnable {
    final String what;
    final AtomicLong number;
    final LongConsumer free;
    volatile boolean forgotten = true;

    Release(String what, long number, LongConsumer free) {
      this.what = what;
      this.number = new AtomicLong(number);
      this.free = free;
    }

    @Override
    public void run() {
      long open = number.getAndSet(0);
      if (open == 0) {
        return;
      }
      if (forgotten) {
        System.getLogger(Handle.class.getName())
            .log(System.Logger.Level.WARNING, "a " + what + " was never closed; its native memory is freed now, rows not flushed may be lost");
      }
      free.accept(open);
    }
  }
}
