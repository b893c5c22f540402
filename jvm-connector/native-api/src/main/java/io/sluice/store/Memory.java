package io.sluice.store;

import java.util.ArrayList;
import java.util.List;

/** All regions of one owner, freed together. Knows nothing of the owner, so that a cleaner may hold it. */
final class Memory implements Runnable {
  private final List<Region> regions = new ArrayList<>();

  /** Returns a new, empty region. */
  Region region() {
    Region region = new Region();
    regions.add(region);
    return region;
  }

  long bytes() {
    long sum = 0;
    for (Region region : regions) {
      sum += region.bytes();
    }
    return sum;
  }

  /** Frees every region. */
  @Override
  public void run() {
    regions.forEach(Region::free);
  }
}
