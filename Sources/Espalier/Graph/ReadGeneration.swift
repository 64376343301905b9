// The generation that a context reads: a snapshot of each part of its source, from the first read until the context
// advances (F-4, MC-51).
//
// Invariants
//   1. A context reads each part from one snapshot, until that snapshot is replaced.
//   2. There is no snapshot before the first read, so the store keeps nothing for an idle context.
//   3. Unless `mayHaveOlderRows`, the objects of the context have the rows of the snapshots, apart from rows that the
//      source has changed together with a save of the context itself.
// Elsewhere: when a context advances, and what it then forgets (+Generation); what it does when a store has discarded a
// snapshot (+Reading).

import EspalierModel
import EspalierStore

/// The snapshots of one context.
final class ReadGeneration {
    /// A part, and the snapshot from which it is read.
    struct PartRead {
        let part: SourcePart
        var snapshot: (any StoreSnapshot)?
    }

    private let source: any ObjectSource
    private let cache: RowCache
    /// The parts at `knownEdition` of the source.
    private(set) var parts: [PartRead]
    private var knownEdition: UInt64
    /// Whether objects may have rows of earlier generations: they keep theirs when the context moves to a newer one.
    private(set) var mayHaveOlderRows = false
    /// How often the context has left a generation because a part had discarded it.
    private(set) var lossCount = 0
    /// Whether the application has chosen the generation; the context then does not advance automatically.
    var isPinned = false
    /// Whether the time of each generation is needed.
    var notesTime = false { didSet { noteTime() } }
    /// The time at which the generation was the newest one; `nil` if that is not needed, or not known.
    private var time: ContinuousClock.Instant?

    init(_ source: any ObjectSource, cache: RowCache) {
        (self.source, self.cache) = (source, cache)
        knownEdition = source.partsEdition
        parts = source.parts.map { PartRead(part: $0) }
    }

    // MARK: Parts

    /// The positions of all parts.
    var positions: Range<Int> {
        followSource()
        return parts.indices
    }

    /// The position of the part that holds the object; `nil` if the part is not open.
    @inline(__always)
    func position(holding id: ObjectID) -> Int? {
        followSource()
        return parts.firstIndex { $0.part.holds(id) }
    }

    /// The position of the part with this store tag; `nil` if the part is not open any more.
    func position(ofStore tag: UInt32?) -> Int? {
        followSource()
        return parts.firstIndex { $0.part.storeTag == tag }
    }

    /// The positions of the parts that may hold objects of `entity`.
    func positions(taking entity: Entity) -> [Int] {
        followSource()
        return parts.indices.filter { parts[$0].part.takes(entity) }
    }

    /// The positions of the parts that a fetch asks.
    func positions(for fetch: StoreFetch) -> [Int] {
        positions(taking: fetch.entity).filter { fetch.asks(storeTag: parts[$0].part.storeTag) }
    }

    /// The position of the one part that a fetch asks; `nil` if there are several or none.
    func onlyPosition(for fetch: StoreFetch) -> Int? {
        if fetch.storeTags == nil { return onlyPosition(taking: fetch.entity) }
        let positions = positions(for: fetch)
        return positions.count == 1 ? positions[0] : nil
    }

    /// The position of the one part that may hold objects of `entity`; `nil` if there are several or none.
    func onlyPosition(taking entity: Entity) -> Int? {
        followSource()
        var found: Int?
        for position in parts.indices where parts[position].part.takes(entity) {
            guard found == nil else { return nil }
            found = position
        }
        return found
    }

    /// Adds the parts that the source has added since, and drops those that it has removed; if there are any, also
    /// empties the cache.
    @inline(__always)
    private func followSource() {
        if source.partsEdition != knownEdition { adoptPartsOfSource() }
    }

    @inline(never)
    private func adoptPartsOfSource() {
        knownEdition = source.partsEdition
        let former = parts
        parts = source.parts.map { part in
            former.first { $0.part.number == part.number } ?? PartRead(part: part)
        }
        mayHaveOlderRows = true
        cache.removeAll()
    }

    /// Asserts the invariants; call it inside `assert`.
    func checkInvariants() -> Bool {
        assert(Set(parts.map(\.part.number)).count == parts.count, "two parts have one number")
        assert(knownEdition <= source.partsEdition, "edition \(knownEdition) of the source's parts")
        return true
    }

    // MARK: Snapshots

    /// The snapshot of the part at `position`, taken now if there was none.
    @inline(__always)
    func snapshot(at position: Int) throws(StoreError) -> any StoreSnapshot {
        assert(parts.indices.contains(position), "part \(position) of \(parts.count)")
        if let snapshot = parts[position].snapshot { return snapshot }
        return try takeSnapshot(at: position)
    }

    @inline(never)
    private func takeSnapshot(at position: Int) throws(StoreError) -> any StoreSnapshot {
        if notesTime, parts.allSatisfy({ $0.snapshot == nil }) { noteTime() }
        let snapshot = try source.snapshot(of: parts[position].part)
        setSnapshot(snapshot, at: position)
        return snapshot
    }

    /// Replaces the snapshot of the part at `position`.
    ///
    /// The list is replaced as a whole: the former snapshot, which may be the last reference to a store, ends after the
    /// access to the list, and the compiler needs no check of exclusive access where the list is read.
    private func setSnapshot(_ snapshot: (any StoreSnapshot)?, at position: Int) {
        assert(parts.indices.contains(position), "part \(position) of \(parts.count)")
        var others = parts
        others[position].snapshot = snapshot
        parts = others
    }

    /// Notes that objects may have rows of earlier generations.
    func noteOlderRows() { mayHaveOlderRows = true }

    /// Whether the rows of all objects are as `snapshot` has them (invariant 3).
    func readsOnly(_ snapshot: any StoreSnapshot) -> Bool {
        !mayHaveOlderRows && parts.count == 1 && parts[0].snapshot === snapshot
    }

    /// Advances the snapshots of the parts read so far to the newest generation.
    ///
    /// - Parameter saved: by number of the part, the generation that a save of the context itself has just made.
    /// - Returns: whether the newest generation differs from the previous one by more than that save.
    func advance(afterSaving saved: [UInt64: UInt64]) -> Bool {
        followSource()
        var hasChanged = false
        for position in parts.indices {
            // The snapshot of the first read may be newer than the rows that the save has written.
            if saved[parts[position].part.number] != nil, parts[position].snapshot == nil { mayHaveOlderRows = true }
            guard let old = parts[position].snapshot, !saved.isEmpty || !old.isNewest else { continue }
            // If the part cannot be read now, the next read reports the error.
            setSnapshot(nil, at: position)
            guard let new = try? takeSnapshot(at: position).generation else {
                hasChanged = true
                continue
            }
            // A store of an application may number its generations as it likes.
            let isOwnSave = new == old.generation &+ 1 && new == saved[parts[position].part.number]
            if new != old.generation && !isOwnSave { hasChanged = true }
        }
        if hasChanged { mayHaveOlderRows = true }
        if notesTime { noteTime() }
        return hasChanged
    }

    /// Notes that the generation is the newest one at this moment, if the time is needed.
    func noteTime() { time = notesTime ? .now : nil }

    /// Whether the generation was the newest one more than this number of seconds ago.
    func isOlder(than seconds: Double) -> Bool {
        guard let time, parts.contains(where: { $0.snapshot != nil }) else { return false }
        return time.duration(to: .now) >= .seconds(seconds)
    }

    /// Ends all snapshots; the next read is from the newest generation.
    func end() {
        for position in parts.indices { setSnapshot(nil, at: position) }
        mayHaveOlderRows = false
    }

    /// Ends all snapshots, because a part has discarded its own; objects keep the rows that were read from them.
    func lose() {
        end()
        mayHaveOlderRows = true
        lossCount += 1
    }

    /// Replaces the snapshots by these, given by number of the part; the other parts are read from their newest
    /// generation.
    ///
    /// - Returns: whether other snapshots were read before; `nil` if none is of an open part, and then nothing has
    ///   changed.
    func replace(by snapshots: [UInt64: any StoreSnapshot]) -> Bool? {
        followSource()
        guard snapshots.isEmpty || parts.contains(where: { snapshots[$0.part.number] != nil }) else { return nil }
        return replaceSnapshots { snapshots[$0.number] }
    }

    /// Returns to the snapshots of `former`, an earlier value of `parts`; returns whether this replaces a snapshot.
    func goBack(to former: [PartRead]) -> Bool {
        replaceSnapshots { part in former.first { $0.part.number == part.number }?.snapshot }
    }

    private func replaceSnapshots(_ snapshot: (SourcePart) -> (any StoreSnapshot)?) -> Bool {
        var hasChanged = false
        for position in parts.indices {
            let new = snapshot(parts[position].part)
            if let old = parts[position].snapshot, old !== new { hasChanged = true }
            setSnapshot(new, at: position)
        }
        if hasChanged { mayHaveOlderRows = true }
        return hasChanged
    }
}
