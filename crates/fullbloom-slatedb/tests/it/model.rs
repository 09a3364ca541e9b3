//! Random operations on a store and on a map in memory: after every one, both hold the same.
//!
//! A store is reopened under another policy all the time, so that tables written under every policy are read
//! under every other.

use crate::engine::{compacted, flush, settings};
use crate::policies::{Configuration, configurations};
use slatedb::object_store::{ObjectStore, memory::InMemory};
use slatedb::{Db, FilterPolicy};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A small generator of random numbers (SplitMix64): runs are the same for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        ((mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 33) % end
    }

    /// Keys of 1 to 10 bytes with few prefixes: many puts, deletes and lookups meet the same keys.
    fn key(&mut self) -> Vec<u8> {
        let number = self.below(3_000);
        let first = [b'a' + (number % 7) as u8, b'0' + (number % 3) as u8];
        match number % 40 {
            0 => first[..1].to_vec(),
            1 => first.to_vec(),
            _ => [&first[..], number.to_string().as_bytes()].concat(),
        }
    }
}

struct Run {
    random: Random,
    objects: Arc<dyn ObjectStore>,
    db: Db,
    model: BTreeMap<Vec<u8>, Vec<u8>>,
    history: Vec<String>,
}

async fn opened(objects: &Arc<dyn ObjectStore>, policies: Vec<Arc<dyn FilterPolicy>>) -> Db {
    Db::builder("store", Arc::clone(objects))
        .with_settings(settings(1 << 20))
        .with_filter_policies(policies)
        .build()
        .await
        .unwrap()
}

impl Run {
    async fn new(seed: u64, (name, policies): Configuration) -> Run {
        let objects: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let db = opened(&objects, policies).await;
        Run { random: Random(seed), objects, db, model: BTreeMap::new(), history: vec![name] }
    }

    async fn step(&mut self, choices: &[Configuration]) {
        match self.random.below(1_000) {
            0..550 => {
                let (key, value) = (self.random.key(), self.random.below(1 << 30).to_string().into_bytes());
                self.db.put(&key, &value).await.unwrap();
                self.model.insert(key, value);
            }
            550..700 => {
                let key = self.random.key();
                self.db.delete(&key).await.unwrap();
                self.model.remove(&key);
            }
            700..950 => {
                let key = self.random.key();
                self.compare(&key).await;
            }
            950..970 => {
                let key = self.random.key();
                let length = 1 + self.random.below(key.len() as u64) as usize;
                self.compare_prefix(&key[..length]).await;
            }
            970..985 => {
                flush(&self.db).await.unwrap();
                self.history.push("flush".into());
            }
            985..992 => {
                compacted(&self.db).await.unwrap();
                self.history.push("compaction".into());
            }
            _ => {
                self.db.close().await.unwrap();
                let (name, policies) = &choices[self.random.below(choices.len() as u64) as usize];
                self.db = opened(&self.objects, policies.clone()).await;
                self.history.push(name.clone());
            }
        }
    }

    async fn compare(&self, key: &[u8]) {
        let stored = self.db.get(key).await.unwrap();
        let expected = self.model.get(key).map(Vec::as_slice);
        assert_eq!(stored.as_deref(), expected, "{key:?} after {:?}", self.history);
    }

    async fn compare_prefix(&self, prefix: &[u8]) {
        let mut found = self.db.scan_prefix(prefix, ..).await.unwrap();
        for (key, value) in self.model.range(prefix.to_vec()..).take_while(|(key, _)| key.starts_with(prefix))
        {
            let next =
                found.next().await.unwrap().unwrap_or_else(|| panic!("{key:?} lost; {:?}", self.history));
            assert_eq!((&*next.key, &*next.value), (&**key, &**value), "{:?}", self.history);
        }
        assert_eq!(found.next().await.unwrap(), None, "{:?}", self.history);
    }

    /// Every key there can be, and every prefix of two bytes.
    async fn compare_all(&mut self) {
        flush(&self.db).await.unwrap();
        for number in 0..3_000_u64 {
            let first = [b'a' + (number % 7) as u8, b'0' + (number % 3) as u8];
            self.compare(&[&first[..], number.to_string().as_bytes()].concat()).await;
        }
        for first in b'a'..=b'h' {
            self.compare(&[first]).await;
            self.compare_prefix(&[first]).await;
            for second in b'0'..=b'3' {
                self.compare(&[first, second]).await;
                self.compare_prefix(&[first, second]).await;
            }
        }
    }
}

/// Runs of this many operations, from this seed, that begin under `first` and reopen under one of `choices`.
async fn run(seed: u64, first: Configuration, choices: &[Configuration], operations: u32) {
    let mut run = Run::new(seed, first).await;
    for _ in 0..operations {
        run.step(choices).await;
    }
    run.compare_all().await;
    run.db.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn no_key_is_lost_under_any_policy() {
    for (seed, one) in configurations().into_iter().enumerate() {
        run(seed as u64, one.clone(), &[one], 3_000).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_key_is_lost_when_the_policy_changes_at_every_start() {
    let all = configurations();
    for seed in 100..106 {
        run(seed, all[seed as usize % all.len()].clone(), &all, 3_000).await;
    }
}
