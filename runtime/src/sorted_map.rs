//! Small maps in little code.
use std::borrow::Borrow;

/// A map as a vector of entries, sorted by key. Insertion takes linear time, which is less than a tree's up to hundreds of
/// entries, and the code is a tenth of a tree's.
#[derive(Debug, Clone)]
pub(crate) struct SortedMap<K, V>(Vec<(K, V)>);

impl<K: Ord, V> SortedMap<K, V> {
    /// An empty map.
    pub(crate) const fn new() -> SortedMap<K, V> {
        SortedMap(Vec::new())
    }

    /// Position of an entry, or where it belongs.
    fn position<Q: Ord + ?Sized>(&self, key: &Q) -> Result<usize, usize>
    where
        K: Borrow<Q>,
    {
        self.0.binary_search_by(|(other, _)| other.borrow().cmp(key))
    }

    /// The value of a key.
    pub(crate) fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.position(key).ok().map(|at| &self.0[at].1)
    }

    /// The value of a key.
    pub(crate) fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.position(key).ok().map(|at| &mut self.0[at].1)
    }

    /// The value of a key, which is added if it is missing.
    pub(crate) fn get_or_default(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        let at = self.position(&key).unwrap_or_else(|at| {
            self.0.insert(at, (key, V::default()));
            at
        });
        &mut self.0[at].1
    }

    /// Sets the value of a key; returns the previous one.
    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.position(&key) {
            Ok(at) => Some(std::mem::replace(&mut self.0[at].1, value)),
            Err(at) => {
                self.0.insert(at, (key, value));
                None
            }
        }
    }

    /// Removes a key; returns its value.
    pub(crate) fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.position(key).ok().map(|at| self.0.remove(at).1)
    }

    /// The entry with the least key.
    pub(crate) fn first(&self) -> Option<&(K, V)> {
        self.0.first()
    }

    /// Keys in order.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &K> {
        self.0.iter().map(|(key, _)| key)
    }

    /// Values in the order of their keys.
    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.0.iter().map(|(_, value)| value)
    }

    /// Number of entries.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Removes all entries.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

impl<K: Ord, V> Default for SortedMap<K, V> {
    fn default() -> Self {
        SortedMap::new()
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for SortedMap<K, V> {
    /// The last of several entries with a key remains.
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = SortedMap::new();
        entries.into_iter().for_each(|(key, value)| drop(map.insert(key, value)));
        map
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn it_behaves_like_a_tree() {
        let (mut random, mut map, mut tree) = (fastrand::Rng::with_seed(3), SortedMap::new(), BTreeMap::new());
        for step in 0..2000 {
            let key = random.u32(..50);
            match random.u8(..4) {
                0 => assert_eq!(map.remove(&key), tree.remove(&key)),
                1 => assert_eq!(map.get_or_default(key), tree.entry(key).or_default()),
                2 => assert_eq!(map.get(&key), tree.get(&key)),
                _ => assert_eq!(map.insert(key, step), tree.insert(key, step)),
            }
            assert_eq!(map.first().map(|(key, value)| (key, value)), tree.first_key_value());
            assert!(map.len() == tree.len() && map.keys().eq(tree.keys()) && map.values().eq(tree.values()));
        }
        assert_eq!(SortedMap::from_iter([(2, 'a'), (1, 'b'), (2, 'c')]).values().collect::<String>(), "bc");
    }
}
