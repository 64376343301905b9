// Saves that wait for a receiver, in bounded memory, even if the receiver never reads them.
//
// Invariants
//   1. Saves are returned in the order in which they were made, one by one as long as they are few.
//   2. When more than 256 wait that hold more than the oldest entry, or 32,768, all become one entry: the union of
//      their IDs by kind. The oldest entry is united again with at least its own weight, or with 32,768 saves.
//   3. At most `idCountMax` IDs are kept beside those of the newest save; more become "everything may have changed",
//      which holds none.

import EspalierModel

/// The saves that wait for one receiver.
package struct SavedChangesQueue {
    /// IDs that are kept in mind: 4 MiB.
    package static let idCountMax = 1 << 18
    /// Saves that are kept apart, while the first of them holds less than the others; and in any case.
    private static let (apartCountMax, saveCountMax) = (256, 32_768)

    private var waiting: [SavedChanges] = []
    /// IDs of all that wait.
    package private(set) var idCount = 0
    /// Entries that wait.
    package var count: Int { waiting.count }

    package init() {}

    package var isEmpty: Bool { waiting.isEmpty }

    /// Adds a save.
    package mutating func append(_ saved: SavedChanges) {
        if waiting.first?.isEverything == true {
            unite(saved, with: waiting[0].contextName)
            return
        }
        waiting.append(saved)
        idCount += saved.idCount
        let first = waiting[0].idCount
        let outweighsFirst = waiting.count > Self.apartCountMax && idCount - first + waiting.count > first
        if outweighsFirst || waiting.count > Self.saveCountMax || idCount > Self.idCountMax || saved.isEverything {
            compact()
        }
    }

    /// Takes the oldest save, or the union of the oldest ones.
    package mutating func takeFirst() -> SavedChanges? {
        guard !waiting.isEmpty else { return nil }
        let first = waiting.removeFirst()
        idCount -= first.idCount
        return first
    }

    /// Takes all that waits, oldest first.
    package mutating func takeAll() -> [SavedChanges] {
        defer { (waiting, idCount) = ([], 0) }
        return waiting
    }

    /// Makes one entry of all that waits.
    private mutating func compact() {
        // One save alone is what its sender holds, too, however large it is.
        guard waiting.count > 1 else { return }
        var union = ChangedIDs()
        for saved in waiting where !union.isEverything { union.add(saved, idCountMax: Self.idCountMax) }
        let names = Set(waiting.map(\.contextName))
        let isEverything = union.isEverything || waiting.contains { $0.isEverything }
        var united = isEverything ? SavedChanges(isEverything: true) : union.savedChanges
        united.contextName = names.count == 1 ? waiting[0].contextName : nil
        (waiting, idCount) = ([united], united.idCount)
    }

    private mutating func unite(_ saved: SavedChanges, with name: String?) {
        if saved.contextName != name { waiting[0].contextName = nil }
    }
}

/// What became of each object in several saves.
private struct ChangedIDs {
    private enum Kind {
        case inserted, updated, deleted
    }
    private var kinds: [ObjectID: Kind] = [:]
    /// The keys of `kinds`, in the order in which they came.
    private var ids: [ObjectID] = []
    private(set) var isEverything = false

    mutating func add(_ saved: SavedChanges, idCountMax: Int) {
        // Inserted again under its own ID: contexts that know the object have to read it again.
        for id in saved.inserted {
            let isKnown = kinds[id] != nil
            kinds[id] = isKnown ? .updated : .inserted
            if !isKnown { ids.append(id) }
        }
        for id in saved.updated where kinds[id] == nil {
            kinds[id] = .updated
            ids.append(id)
        }
        for id in saved.deleted where kinds.updateValue(.deleted, forKey: id) == nil { ids.append(id) }
        if ids.count > idCountMax { (kinds, ids, isEverything) = ([:], [], true) }
    }

    /// The union, each kind in the order in which its IDs came first.
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
