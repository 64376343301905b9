// The keys that stand for the references of a store which are no keys themselves.
//
// Invariants
//   1. Each reference has one key, and each key one reference, as long as the process lives: an object ID consists of
//      numbers only, and may outlive its store.
//   2. These keys are at least `firstKey`; the keys below it are the numbers that they stand for.
//   3. A store has a table once one of its references needs one, or once it says that one may (`open`).

internal import Synchronization

/// The references of one store that are texts, UUIDs, or numbers that no key can be.
package final class ReferenceTable: Sendable {
    private struct State {
        var keys: [RowReference: UInt64] = [:]
        var references: [RowReference] = []
    }

    package static let firstKey: UInt64 = 1 << 63

    /// The tables by store tag.
    private static let tables = Mutex<[UInt32: ReferenceTable]>([:])

    /// Guards both directions of the table.
    private let state = Mutex(State())

    /// The table of a store; `nil` if none of its references has needed one.
    package static func table(ofStore tag: UInt32) -> ReferenceTable? { tables.withLock { $0[tag] } }

    /// The key of a reference in a store; enters the reference in the store's table if it needs that.
    ///
    /// - Complexity: O(1), and O(bytes) for a text.
    package static func key(of reference: RowReference, inStore tag: UInt32) -> UInt64 {
        if case .number(let number) = reference, number > 0, number < firstKey { return number }
        return open(forStore: tag).key(of: reference)
    }

    /// The table of a store, made now if there was none.
    @discardableResult
    package static func open(forStore tag: UInt32) -> ReferenceTable {
        tables.withLock { tables in
            if let table = tables[tag] { return table }
            let table = ReferenceTable()
            tables[tag] = table
            return table
        }
    }

    /// The key of a reference that somebody names; `nil` if no row of the store can have it.
    ///
    /// A reference of a store without a table is a key itself, and anything else is entered in the table: a row may
    /// have it that nobody has read yet.
    package static func namedKey(of reference: RowReference, inStore tag: UInt32) -> UInt64? {
        if table(ofStore: tag) != nil { return key(of: reference, inStore: tag) }
        if case .number(let number) = reference, number > 0 { return number }
        return nil
    }

    /// The reference for which a key of a store stands.
    package static func reference(of key: UInt64, inStore tag: UInt32) -> RowReference {
        guard key >= firstKey, let reference = table(ofStore: tag)?.reference(of: key) else { return .number(key) }
        return reference
    }

    private func key(of reference: RowReference) -> UInt64 {
        state.withLock { state in
            if let key = state.keys[reference] { return key }
            let key = Self.firstKey + UInt64(state.references.count)
            state.keys[reference] = key
            state.references.append(reference)
            return key
        }
    }

    private func reference(of key: UInt64) -> RowReference? {
        state.withLock { state in
            let position = key - Self.firstKey
            return position < UInt64(state.references.count) ? state.references[Int(position)] : nil
        }
    }
}
