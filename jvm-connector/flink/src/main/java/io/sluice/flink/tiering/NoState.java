package io.sluice.flink.tiering;

import org.apache.flink.core.io.SimpleVersionedSerializer;

/** What a checkpoint holds of the job: nothing. The lake itself records how far it is. */
enum NoState {
  INSTANCE;

  static final SimpleVersionedSerializer<NoState> SERIALIZER =
      new SimpleVersionedSerializer<NoState>() {
        @Override
        public int getVersion() {
          return 1;
        }

        @Override
        public byte[] serialize(NoState state) {
          return new byte[0];
        }

        @Override
        public NoState deserialize(int version, byte[] bytes) {
          return INSTANCE;
        }
      };
}
