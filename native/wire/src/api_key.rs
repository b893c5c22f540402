//! The requests that there are, by number.

use crate::message::ApiVersion;

macro_rules! api_keys {
    ($($name:ident = $key:literal, $max:literal;)*) => {
        /// A request that this server answers. The number is the protocol's.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(i16)]
        #[expect(missing_docs, reason = "each name is the protocol's")]
        pub enum ApiKey {
            $($name = $key,)*
        }

        /// Each with its highest version; the lowest is 0 for all.
        const ALL: &[(ApiKey, i32)] = &[$((ApiKey::$name, $max),)*];
    };
}

api_keys! {
    ApiVersions = 1000, 0;
    CreateDatabase = 1001, 0;
    DropDatabase = 1002, 0;
    ListDatabases = 1003, 0;
    DatabaseExists = 1004, 0;
    CreateTable = 1005, 0;
    DropTable = 1006, 0;
    GetTableInfo = 1007, 0;
    ListTables = 1008, 0;
    ListPartitionInfos = 1009, 0;
    TableExists = 1010, 0;
    GetTableSchema = 1011, 0;
    GetMetadata = 1012, 0;
    ProduceLog = 1014, 0;
    FetchLog = 1015, 0;
    PutKv = 1016, 1;
    Lookup = 1017, 1;
    ListOffsets = 1021, 0;
    GetLatestKvSnapshots = 1023, 0;
    GetKvSnapshotMetadata = 1024, 0;
    GetFileSystemSecurityToken = 1025, 0;
    InitWriter = 1026, 0;
    GetLakeSnapshot = 1032, 0;
    LimitScan = 1033, 0;
    PrefixLookup = 1034, 1;
    GetDatabaseInfo = 1035, 0;
    CreatePartition = 1036, 0;
    DropPartition = 1037, 0;
    Authenticate = 1038, 0;
    CreateAcls = 1039, 0;
    ListAcls = 1040, 0;
    DropAcls = 1041, 0;
    AlterTable = 1044, 0;
    DescribeClusterConfigs = 1045, 0;
    RegisterProducerOffsets = 1053, 0;
    GetProducerOffsets = 1054, 0;
    DeleteProducerOffsets = 1055, 0;
    AcquireKvSnapshotLease = 1056, 0;
    ReleaseKvSnapshotLease = 1057, 0;
    DropKvSnapshotLease = 1058, 0;
    GetTableStats = 1059, 0;
    Call = 9001, 0;
    RowScan = 9002, 0;
}

impl ApiKey {
    /// The request behind a number.
    #[must_use]
    pub fn from_number(number: i16) -> Option<Self> {
        ALL.iter().map(|(key, _)| *key).find(|key| *key as i16 == number)
    }

    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        ALL.iter().map(|(key, _)| *key)
    }

    /// Its number.
    #[must_use]
    pub const fn number(self) -> i16 {
        self as i16
    }
}

/// The list that every client asks for first.
#[derive(Debug)]
pub struct ApiVersions;

impl ApiVersions {
    /// Every request with its versions. A client refuses by itself to send what is not in it.
    #[must_use]
    pub fn list() -> Vec<ApiVersion> {
        let entry = |(key, max): &(ApiKey, i32)| ApiVersion {
            api_key: i32::from(key.number()),
            min_version: 0,
            max_version: *max,
        };
        ALL.iter().map(entry).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_lead_back_to_their_request() {
        assert!(ALL.is_sorted_by(|a, b| a.0.number() < b.0.number()));
        for (key, _) in ALL {
            assert_eq!(ApiKey::from_number(key.number()), Some(*key));
        }
        for unknown in [0, 999, 1013, 1018, 9999, -1, i16::MIN] {
            assert_eq!(ApiKey::from_number(unknown), None);
        }
        assert_eq!(ApiVersions::list().iter().find(|v| v.api_key == 1016).unwrap().max_version, 1);
    }
}
