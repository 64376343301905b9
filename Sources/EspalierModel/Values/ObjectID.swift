// Object identifiers: the identity of an object across contexts, threads and processes.
//
// Invariants
//   1. Two IDs are equal exactly if they name the same row of the same store, or the same unsaved object.
//   2. An ID consists of 16 trivial bytes: hashing, comparing and copying it touches no other memory and no reference
//      count.
//   3. Key 0 is never allocated.

public import FoundationEssentials
import Synchronization

/// The identity of a managed object (Behaviour ID-01 to ID-08).
///
/// An ID is temporary from insertion until the first save (or `obtainPermanentIDs`), and permanent afterwards. Contexts
/// exchange only IDs, never live objects.
public struct ObjectID: Hashable, Sendable {
    /// The store, as a number that is valid in this process; 0 = temporary.
    ///
    /// Only `storeIdentifier` identifies the store outside this process.
    @usableFromInline package let storeTag: UInt32
    /// The concrete entity, as a number that is valid in this process; see `entityName`.
    @usableFromInline package let entityTag: UInt32
    /// The primary key within the entity's hierarchy, or the serial number of a temporary ID.
    @usableFromInline package let key: UInt64

    /// Whether both IDs are the same.
    ///
    /// Keys are compared first, because most IDs differ there.
    @inlinable
    public static func == (left: ObjectID, right: ObjectID) -> Bool {
        left.key == right.key && left.entityTag == right.entityTag && left.storeTag == right.storeTag
    }

    /// Hashes one word: the IDs in one table differ mostly in `key`, and the tags are small.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(key ^ UInt64(entityTag) << 48 ^ UInt64(storeTag) << 40)
    }

    /// Makes the ID of the row with primary key `key` (not 0) of `entityName` in the store `storeIdentifier`.
    package init(entityName: String, storeIdentifier: UUID, key: UInt64) {
        precondition(key != 0, "key 0 is allocated")
        (storeTag, entityTag, self.key) = (
            Interned.stores.tag(of: storeIdentifier), Interned.entities.tag(of: entityName), key
        )
    }

    /// Makes the ID of a row from known tags of store and entity; stores use it in loops.
    @inlinable
    package init(storeTag: UInt32, entityTag: UInt32, key: UInt64) {
        precondition(key != 0, "key 0 is allocated")
        (self.storeTag, self.entityTag, self.key) = (storeTag, entityTag, key)
    }

    /// Makes a new temporary ID, unique in this process.
    package init(temporaryFor entityName: String) {
        self.init(temporaryForEntityTag: Interned.entities.tag(of: entityName))
    }

    /// Makes a new temporary ID from a known entity tag.
    package init(temporaryForEntityTag entityTag: UInt32) {
        (storeTag, self.entityTag) = (0, entityTag)
        key = Interned.temporaryKeys.wrappingAdd(1, ordering: .relaxed).newValue
    }

    /// Whether the object has not been assigned a row in a store yet (ID-01).
    public var isTemporary: Bool { storeTag == 0 }

    /// The name of the concrete entity (ID-03).
    public var entityName: String { Interned.entities.value(of: entityTag) }

    /// The UUID of the store that holds the row; `nil` for a temporary ID (ID-03).
    public var storeIdentifier: UUID? { isTemporary ? nil : Interned.stores.value(of: storeTag) }

    /// The ID as a URI (ID-02): `x-espalier://<store UUID>/<Entity>/p<key>`, or `x-espalier:///<Entity>/t<number>`.
    ///
    /// A row that its store knows by a text has `s` and the text with escapes instead of `p<key>`, and one that it
    /// knows by a UUID has `u` and the UUID.
    public var uriRepresentation: String {
        guard let storeIdentifier else { return "x-espalier:///\(entityName)/t\(key)" }
        let row = ReferenceTable.reference(of: key, inStore: storeTag).uriComponent
        return "x-espalier://\(storeIdentifier.uuidString)/\(entityName)/\(row)"
    }

    /// The ID that `uri` names (ID-07); `nil` if it is malformed or this process has no such store or entity.
    public init?(uriRepresentation uri: String) {
        let parts = uri.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 5, parts[0] == "x-espalier:", parts[1].isEmpty,
            let entityTag = Interned.entities.existingTag(of: String(parts[3]))
        else { return nil }
        self.entityTag = entityTag
        if parts[2].isEmpty {
            guard parts[4].first == "t", let key = UInt64(parts[4].dropFirst()), key != 0,
                String(key) == parts[4].dropFirst()
            else { return nil }
            (storeTag, self.key) = (0, key)
        } else {
            guard let store = UUID(uuidString: String(parts[2])),
                let storeTag = Interned.stores.existingTag(of: store),
                let reference = RowReference(uriComponent: parts[4]),
                let key = ReferenceTable.namedKey(of: reference, inStore: storeTag)
            else { return nil }
            (self.storeTag, self.key) = (storeTag, key)
        }
    }
}

extension ObjectID: CustomStringConvertible {
    /// The URI.
    public var description: String { uriRepresentation }
}

/// Process-wide numbers for store UUIDs and entity names, so that an `ObjectID` stays 16 trivial bytes.
package enum Interned {
    package static let stores = InternTable<UUID>()
    package static let entities = InternTable<String>()
    fileprivate static let temporaryKeys = Atomic<UInt64>(0)
}

/// Assigns each distinct value a number, from 1 up.
///
/// Entries live as long as the process. Only the UUIDs of opened stores and the entity names of loaded models are
/// entered, never text from a URI.
package final class InternTable<Value: Hashable & Sendable>: Sendable {
    private struct State {
        var tags: [Value: UInt32] = [:]
        var values: [Value] = []
    }
    /// Guards both directions of the table.
    private let state = Mutex(State())

    /// The number of `value`; assigns a new one if it has none.
    package func tag(of value: Value) -> UInt32 {
        state.withLock { state in
            if let tag = state.tags[value] { return tag }
            state.values.append(value)
            let tag = UInt32(state.values.count)
            state.tags[value] = tag
            return tag
        }
    }

    /// The number of `value`; `nil` if it has none.
    package func existingTag(of value: Value) -> UInt32? { state.withLock { $0.tags[value] } }

    /// The value with number `tag`, which this table must have assigned.
    package func value(of tag: UInt32) -> Value { state.withLock { $0.values[Int(tag) - 1] } }
}
