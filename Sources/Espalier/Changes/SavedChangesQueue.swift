// A queue of saves for one receiver. Its memory is bounded, even if the receiver never reads it.
//
// Invariants
//   1. Saves are returned in the order in which they were delivered, and one by one as long as they are few.
//   2. If more than 256 saves wait and those after the oldest entry outweigh it (a save weighs its number of IDs plus
//      1), or if more than 32,768 wait, all become one entry: the union of their IDs by kind. So each union that
//      includes the oldest entry also includes saves of at least its weight, or 32,768 saves.
//   3. In addition to the IDs of the newest save, at most `idCountMax` IDs are kept. If there are more, the queue
//      becomes one entry without IDs: "everything may have changed".

import EspalierModel

/// The saves that one receiver has not read yet.
package struct SavedChangesQueue {
    /// The most IDs that the queue keeps: 4 MiB.
    package static let idCountMax = 1 << 18
    /// The most separate entries: `apartCountMax` if the others outweigh the oldest one, `saveCountMax` in any case.
    private static let (apartCountMax, saveCountMax) = (256, 32_768)

    private var waiting = Deque<SavedChanges>()
    /// The number of IDs in all entries.
    package private(set) var idCount = 0
    /// The number of entries.
    package var count: Int { waiting.count }

    package init() {}

    package var isEmpty: Bool { waiting.isEmpty }

    /// Adds a save.
    package mutating func append(_ saved: SavedChanges) {
        if waiting.first?.isEverything == true {
            unite(saved)
            return
        }
        waiting.append(saved)
        idCount += saved.idCount
        let first = waiting.first?.idCount ?? 0
        let outweighsFirst = waiting.count > Self.apartCountMax && idCount - first + waiting.count > first
        if outweighsFirst || waiting.count > Self.saveCountMax || idCount > Self.idCountMax || saved.isEverything {
            compact()
        }
    }

    /// Removes and returns the oldest entry: one save, or the union of several.
    ///
    /// - Complexity: O(1), amortized.
    package mutating func takeFirst() -> SavedChanges? {
        guard let first = waiting.popFirst() else { return nil }
        idCount -= first.idCount
        return first
    }

    /// Removes and returns all entries, oldest first.
    package mutating func takeAll() -> [SavedChanges] {
        let all = Array(waiting)
        waiting.removeAll()
        idCount = 0
        return all
    }

    /// Unites all entries into one.
    private mutating func compact() {
        // The sender holds the IDs of a single save too, however many they are.
        guard waiting.count > 1, let first = waiting.first else { return }
        var union = ChangedIDs()
        for saved in waiting where !union.isEverything { union.add(saved, idCountMax: Self.idCountMax) }
        let (names, authors) = (Set(waiting.map(\.contextName)), Set(waiting.map(\.author)))
        let isEverything = union.isEverything || waiting.contains { $0.isEverything }
        var united = isEverything ? SavedChanges(isEverything: true) : union.savedChanges
        united.contextName = names.count == 1 ? first.contextName : nil
        united.author = authors.count == 1 ? first.author : nil
        waiting.removeAll()
        waiting.append(united)
        idCount = united.idCount
    }

    private mutating func unite(_ saved: SavedChanges) {
        waiting.modifyFirst { first in
            if saved.contextName != first.contextName { first.contextName = nil }
            if saved.author != first.author { first.author = nil }
        }
    }
}

/// The final state of each object after several saves.
private struct ChangedIDs {
    private enum Kind {
        case inserted, updated, deleted
    }
    private var kinds: [ObjectID: Kind] = [:]
    /// The keys of `kinds`, in the order in which they were added.
    private var ids: [ObjectID] = []
    private(set) var isEverything = false

    mutating func add(_ saved: SavedChanges, idCountMax: Int) {
        // An object that is inserted again under its own ID counts as updated: contexts that know it have to read it
        // again.
        for id in saved.insertedIDs {
            let isKnown = kinds[id] != nil
            kinds[id] = isKnown ? .updated : .inserted
            if !isKnown { ids.append(id) }
        }
        for id in saved.updatedIDs where kinds[id] == nil {
            kinds[id] = .updated
            ids.append(id)
        }
        for id in saved.deletedIDs where kinds.updateValue(.deleted, forKey: id) == nil { ids.append(id) }
        if ids.count > idCountMax { (kinds, ids, isEverything) = ([:], [], true) }
    }

    /// The union, each kind in the order in which its IDs were first added.
    var savedChanges: SavedChanges {
        var union = SavedChanges()
        for id in ids {
            switch kinds[id] {
            case .inserted: union.inserted.append(id)
            case .updated: union.updated.append(id)
            case .deleted: union.deleted.append(id)
            case nil: break
            }
        }
        return union
    }
}
