// Object identifiers: who an object is, across contexts, threads and processes.
//
// Invariants
//   1. Two IDs are equal exactly if they name the same row of the same store, or the same unsaved object.
//   2. An ID is 16 trivial bytes: hashing, comparing and copying it touches no other memory and no reference count.
//   3. Key 0 is never given out.

public import FoundationEssentials
import Synchronization

/// The identity of a managed object (Behaviour ID-01 to ID-08).
///
/// An ID is temporary from insertion until the first save (or `obtainPermanentIDs`), and permanent afterwards. IDs are
/// the only thing that passes between contexts; live objects do not.
public struct ObjectID: Hashable, Sendable {
    /// Which store, as a number of this process; 0 = temporary.
    ///
    /// Not the store's business: see `storeIdentifier`.
    @usableFromInline package let storeTag: UInt32
    /// Which concrete entity, as a number of this process; see `entityName`.
    @usableFromInline package let entityTag: UInt32
    /// The primary key within the entity's hierarchy, or the running number of a temporary ID.
    @usableFromInline package let key: UInt64

    /// Whether both name the same: the keys first, in which most differ.
    @inlinable
    public static func == (left: ObjectID, right: ObjectID) -> Bool {
        left.key == right.key && left.entityTag == right.entityTag && left.storeTag == right.storeTag
    }

    /// Hashes one word: keys of one table of IDs differ mostly in `key`, and the tags are small.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(key ^ UInt64(entityTag) << 48 ^ UInt64(storeTag) << 40)
    }

    /// The ID of the row with primary key `key` (not 0) of `entityName` in the store `storeIdentifier`.
    package init(entityName: String, storeIdentifier: UUID, key: UInt64) {
        precondition(key != 0, "key 0 is never given out")
        (storeTag, entityTag, self.key) = (
            Interned.stores.tag(of: storeIdentifier), Interned.entities.tag(of: entityName), key
        )
    }

    /// The ID of a row of a store and an entity whose tags the caller already has: what stores use in loops.
    @inlinable
    package init(storeTag: UInt32, entityTag: UInt32, key: UInt64) {
        precondition(key != 0, "key 0 is never given out")
        (self.storeTag, self.entityTag, self.key) = (storeTag, entityTag, key)
    }

    /// A fresh temporary ID, unique in this process.
    package init(temporaryFor entityName: String) {
        self.init(temporaryForEntityTag: Interned.entities.tag(of: entityName))
    }

    /// A fresh temporary ID for an entity whose tag the caller already has.
    package init(temporaryForEntityTag entityTag: UInt32) {
        (storeTag, self.entityTag) = (0, entityTag)
        key = Interned.temporaryKeys.wrappingAdd(1, ordering: .relaxed).newValue
    }

    /// Whether the object has not been given its place in a store yet (ID-01).
    public var isTemporary: Bool { storeTag == 0 }

    /// The name of the concrete entity (ID-03).
    public var entityName: String { Interned.entities.value(of: entityTag) }

    /// The UUID of the store that holds the row; `nil` for a temporary ID (ID-03).
    public var storeIdentifier: UUID? { isTemporary ? nil : Interned.stores.value(of: storeTag) }

    /// The ID as a URI (ID-02): `x-espalier://<store UUID>/<Entity>/p<key>`, or `x-espalier:///<Entity>/t<number>`.
    public var uriRepresentation: String {
        if let storeIdentifier { return "x-espalier://\(storeIdentifier.uuidString)/\(entityName)/p\(key)" }
        return "x-espalier:///\(entityName)/t\(key)"
    }

    /// The ID that `uri` names (ID-07); `nil` if it is malformed or this process has no such store or entity.
    public init?(uriRepresentation uri: String) {
        let parts = uri.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 5, parts[0] == "x-espalier:", parts[1].isEmpty,
            let entityTag = Interned.entities.existingTag(of: String(parts[3])),
            let key = UInt64(parts[4].dropFirst()), key != 0, String(key) == parts[4].dropFirst()
        else { return nil }
        switch (UUID(uuidString: String(parts[2])), parts[4].first) {
        case (let store?, "p"):
            guard let storeTag = Interned.stores.existingTag(of: store) else { return nil }
            (self.storeTag, self.entityTag, self.key) = (storeTag, entityTag, key)
        case (nil, "t") where parts[2].isEmpty: (storeTag, self.entityTag, self.key) = (0, entityTag, key)
        default: return nil
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

/// Gives every distinct value a number from 1 up.
///
/// Entries live as long as the process: only store UUIDs that were
/// opened and entity names of loaded models are entered, never text from a URI.
package final class InternTable<Value: Hashable & Sendable>: Sendable {
    private struct State {
        var tags: [Value: UInt32] = [:]
        var values: [Value] = []
    }
    /// Guards both directions of the table.
    private let state = Mutex(State())

    /// The number of `value`, a new one if it has none yet.
    package func tag(of value: Value) -> UInt32 {
        state.withLock { state in
            if let tag = state.tags[value] { return tag }
            state.values.append(value)
            let tag = UInt32(state.values.count)
            state.tags[value] = tag
            return tag
        }
    }

    /// The number of `value` if it has one.
    package func existingTag(of value: Value) -> UInt32? { state.withLock { $0.tags[value] } }

    /// The value with number `tag`, which this table has given out.
    package func value(of tag: UInt32) -> Value { state.withLock { $0.values[Int(tag) - 1] } }
}
