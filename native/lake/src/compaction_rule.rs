//! Which files of a bucket a compaction takes: pure decisions over sizes and levels, with the options and defaults of Paimon.

use crate::file_meta::FileMeta;
use crate::table_schema::TableSchema;
use sluice_base::{Error, Result, Subject, parse_bytes};
use std::ops::Range;

/// The options that say so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CompactionRule {
    /// So many sorted runs of a bucket are enough to do something.
    trigger: usize,
    /// The level of files that nothing lies below.
    max_level: i32,
    /// How much larger, in percent, all newer runs together may be than the oldest one.
    amplification_percent: i64,
    /// How much larger, in percent, a run may be than the newer ones and still be merged with them.
    ratio_percent: i64,
    /// Size at which a file is ended.
    pub(crate) target_bytes: i64,
    /// So many small files in a row of an append table are enough.
    files_min: usize,
}

/// Part of a bucket of a primary-key table: one file of level 0, or all files of another level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RunSize {
    pub(crate) level: i32,
    pub(crate) bytes: i64,
}

/// The runs at `runs` are merged into files of `level`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pick {
    pub(crate) runs: Range<usize>,
    pub(crate) level: i32,
}

/// Most runs that are merged at once, each of which has a file open. What others never merged may have thousands.
const RUNS_MAX: usize = 64;

impl CompactionRule {
    /// The rule of a table.
    ///
    /// # Errors
    /// `Invalid` about `Option`.
    pub(crate) fn of(schema: &TableSchema) -> Result<Self> {
        let bad = |key: &str, value: &str, what: &str| {
            Error::invalid(Subject::Option, format!("option 'paimon.{key}' = '{value}' is not {what}"))
        };
        let number = |key: &str, default: i64, least: i64| match schema.option(key) {
            None => Ok(default),
            Some(value) => {
                let number = value.trim().parse().ok().filter(|n| *n >= least);
                number.ok_or_else(|| bad(key, value, &format!("a number of at least {least}")))
            }
        };
        let keyed = !schema.schema.primary_key.is_empty();
        let target = match schema.option("target-file-size") {
            None => (if keyed { 128 } else { 256 }) << 20,
            Some(value) => parse_bytes(value).map_err(|_| bad("target-file-size", value, "a size"))?,
        };
        let trigger = number("num-sorted-run.compaction-trigger", 5, 1)?;
        let levels = number("num-levels", trigger + 1, 2)?;
        Ok(Self {
            trigger: usize::try_from(trigger).unwrap_or(usize::MAX),
            max_level: i32::try_from(levels - 1).unwrap_or(i32::MAX),
            amplification_percent: number("compaction.max-size-amplification-percent", 200, 0)?,
            ratio_percent: number("compaction.size-ratio", 1, 0)?,
            target_bytes: i64::try_from(target).unwrap_or(i64::MAX).max(1),
            files_min: usize::try_from(number("compaction.min.file-num", 5, 2)?).unwrap_or(usize::MAX),
        })
    }

    /// What to merge of a bucket's runs, which come newest first: by how much space older changes take, by sizes that are alike, by number.
    /// Of very many the oldest.
    pub(crate) fn pick(&self, runs: &[RunSize]) -> Option<Pick> {
        let oldest = runs.last().filter(|_| runs.len() >= self.trigger.max(2))?;
        let bytes = |runs: &[RunSize]| runs.iter().map(|run| run.bytes).fold(0_i64, i64::saturating_add);
        // Files of a level beyond ours were written under other options.
        let max_level = runs.iter().map(|run| run.level).fold(self.max_level, i32::max);
        if runs.len() > RUNS_MAX {
            return Some(Pick { runs: runs.len() - RUNS_MAX..runs.len(), level: max_level });
        }
        let newer = bytes(&runs[..runs.len() - 1]);
        if newer.saturating_mul(100) > self.amplification_percent.saturating_mul(oldest.bytes) {
            return Some(Pick { runs: 0..runs.len(), level: max_level });
        }
        let alike = self.alike(runs, 1);
        if alike > 1 {
            return Some(Self::into_level(runs, alike, max_level));
        }
        let excess = runs.len() + 1 - self.trigger;
        (excess > 1).then(|| Self::into_level(runs, self.alike(runs, excess), max_level))
    }

    /// How many runs from the newest on are of sizes alike, at least `count`.
    fn alike(&self, runs: &[RunSize], count: usize) -> usize {
        let mut bytes: i64 = runs.iter().take(count).map(|run| run.bytes).sum();
        let mut taken = count;
        for run in runs.iter().skip(count) {
            if bytes.saturating_mul(100 + self.ratio_percent) / 100 < run.bytes {
                break;
            }
            bytes = bytes.saturating_add(run.bytes);
            taken += 1;
        }
        taken
    }

    /// The merged run comes right above the next older one, but never to level 0, where each file is a run.
    fn into_level(runs: &[RunSize], count: usize, max_level: i32) -> Pick {
        let above = |run: &RunSize| run.level - 1;
        match runs.get(count).map(above) {
            Some(level) if level > 0 => return Pick { runs: 0..count, level },
            None => return Pick { runs: 0..runs.len(), level: max_level },
            Some(_) => {}
        }
        match runs.iter().enumerate().skip(count).find(|(_, run)| run.level > 0) {
            Some((at, run)) => {
                Pick { runs: 0..at + 1, level: if at + 1 == runs.len() { max_level } else { run.level } }
            }
            None => Pick { runs: 0..runs.len(), level: max_level },
        }
    }

    /// Groups of neighbours among the files of a bucket of an append table, in their order, that are to be put together: positions.
    pub(crate) fn groups(&self, files: &[FileMeta]) -> Vec<Range<usize>> {
        let is_small = |file: &FileMeta| file.file_size < self.target_bytes / 10 * 7;
        let bytes_of =
            |group: Range<usize>| files[group].iter().map(|file| file.file_size).fold(0, i64::saturating_add);
        let mut groups = Vec::new();
        let (mut begin, mut bytes) = (0, 0_i64);
        for (at, file) in files.iter().enumerate() {
            if !is_small(file) {
                self.close(&mut groups, worth_writing(files, begin..at));
                (begin, bytes) = (at + 1, 0);
                continue;
            }
            bytes = bytes.saturating_add(file.file_size);
            if bytes < self.target_bytes {
                continue;
            }
            // Enough for a whole file, however few they are. The last one may yet be the first of the next.
            begin = worth_writing(files, begin..at + 1).start.min(at);
            bytes = bytes_of(begin..at + 1);
            if bytes >= self.target_bytes {
                groups.push(begin..at + 1);
                (begin, bytes) = (at + 1, 0);
            }
        }
        self.close(&mut groups, worth_writing(files, begin..files.len()));
        groups
    }

    fn close(&self, groups: &mut Vec<Range<usize>>, group: Range<usize>) {
        if group.len() >= self.files_min {
            groups.push(group);
        }
    }
}

/// A group without the files in front that are more than twice as large as all behind them: written again each time that some small ones
/// have come, a row would be written many times.
fn worth_writing(files: &[FileMeta], group: Range<usize>) -> Range<usize> {
    let mut behind = files[group.clone()].iter().map(|file| file.file_size).fold(0, i64::saturating_add);
    let is_worth = |at: &usize| {
        behind -= files[*at].file_size;
        files[*at].file_size <= behind.saturating_mul(2)
    };
    group.clone().find(is_worth).unwrap_or(group.end)..group.end
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: CompactionRule = CompactionRule {
        trigger: 5,
        max_level: 5,
        amplification_percent: 200,
        ratio_percent: 1,
        target_bytes: 100,
        files_min: 3,
    };

    fn runs(sizes: &[(i32, i64)]) -> Vec<RunSize> {
        sizes.iter().map(|(level, bytes)| RunSize { level: *level, bytes: *bytes }).collect()
    }

    #[test]
    fn runs_are_picked_as_paimon_does() {
        for (sizes, pick) in [
            (vec![], None),
            (vec![(0, 1); 4], None),
            // Five alike: more than twice the oldest, so all go to the bottom.
            (vec![(0, 1); 5], Some((5, 5))),
            (vec![(0, 1), (0, 1), (0, 1), (0, 1), (5, 1000)], Some((4, 4))),
            (vec![(0, 1), (0, 1), (0, 1), (4, 3), (5, 1000)], Some((4, 4))),
            (vec![(0, 1), (0, 1), (0, 1), (4, 900), (5, 1000)], Some((3, 3))),
            (vec![(0, 1), (0, 5), (0, 50), (4, 400), (5, 1000)], None),
            (vec![(0, 1), (0, 5), (0, 50), (3, 100), (4, 400), (5, 1000)], Some((4, 3))),
            // Right above level 1 there is only level 0: that run is merged too.
            (vec![(0, 1), (0, 1), (0, 1), (1, 900), (5, 5000)], Some((4, 1))),
            (vec![(0, 600), (0, 500), (0, 400), (4, 900), (5, 1000)], Some((5, 5))),
            (vec![(0, 9), (0, 9), (0, 9), (0, 9), (7, 1)], Some((5, 7))),
        ] {
            let expected = pick.map(|(runs, level)| Pick { runs: 0..runs, level });
            assert_eq!(RULE.pick(&runs(&sizes)), expected, "{sizes:?}");
        }
    }

    #[test]
    fn of_very_many_runs_the_oldest_are_merged_first() {
        let sizes = [vec![(0, 1); 99], vec![(4, 7), (5, 1000)]].concat();
        assert_eq!(RULE.pick(&runs(&sizes)), Some(Pick { runs: 37..101, level: 5 }));
    }

    #[test]
    fn a_run_never_comes_below_or_beside_an_older_one() {
        let mut random = 1_u64;
        let mut next = |below: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % below
        };
        for _ in 0..20_000 {
            let mut sizes = vec![(0, 0); usize::try_from(next(7)).unwrap()];
            sizes.extend((1..=5).filter(|_| next(2) == 0).map(|level| (level, 0)));
            for size in &mut sizes {
                let scale = next(12);
                size.1 = i64::try_from(next(2 << scale)).unwrap();
            }
            let runs = runs(&sizes);
            let Some(pick) = RULE.pick(&runs) else { continue };
            assert!(pick.level > 0 && pick.runs.end <= runs.len() && !pick.runs.is_empty(), "{sizes:?} {pick:?}");
            let older = runs.get(pick.runs.end..).unwrap();
            assert!(older.iter().all(|run| run.level > pick.level), "{sizes:?} {pick:?}");
        }
    }

    #[test]
    fn small_neighbours_are_put_together() {
        let files = |sizes: &[i64]| {
            sizes
                .iter()
                .map(|size| FileMeta { file_size: *size, ..FileMeta::append(String::new(), 0) })
                .collect::<Vec<_>>()
        };
        for (sizes, groups) in [
            (vec![10, 10], vec![]),
            (vec![10, 10, 10], vec![(0, 3)]),
            (vec![10, 10, 90, 10, 10, 10], vec![(3, 6)]),
            (vec![60, 60, 10, 10], vec![(0, 2)]),
            (vec![60, 60, 10, 10, 10], vec![(0, 2), (2, 5)]),
            (vec![90, 90], vec![]),
            // The first is not written again for little.
            (vec![50, 8, 8, 8], vec![(1, 4)]),
            (vec![50, 9, 9, 9], vec![(0, 4)]),
            (vec![50, 1, 1], vec![]),
            (vec![69, 30, 1], vec![]),
        ] {
            let found: Vec<_> = RULE.groups(&files(&sizes)).into_iter().map(|g| (g.start, g.end)).collect();
            assert_eq!(found, groups, "{sizes:?}");
        }
    }

    #[test]
    fn a_row_of_an_append_table_is_written_again_some_times_only() {
        let rule = CompactionRule { target_bytes: 2000, files_min: 5, ..RULE };
        let mut sizes: Vec<i64> = Vec::new();
        let mut written = 0;
        for round in 0..900 {
            sizes.push(1 + round % 2);
            let files: Vec<FileMeta> =
                sizes.iter().map(|size| FileMeta { file_size: *size, ..FileMeta::append(String::new(), 0) }).collect();
            for group in rule.groups(&files).into_iter().rev() {
                let bytes: i64 = sizes[group.clone()].iter().sum();
                written += bytes;
                sizes.splice(group, [bytes]);
            }
        }
        let all: i64 = sizes.iter().sum();
        assert!(sizes.len() < 20, "{sizes:?}");
        assert!(written < all * 8, "{all} bytes were written {} times", written / all);
    }
}
