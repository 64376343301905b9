// The existing rows, by entity. Every reference of a store is looked up here, so keys are held in memory up to a limit.
//
// Invariants
//   1. A row exists if its structure is sound and it belongs to the hierarchy whose tree contains it.
//   2. If the key set of an entity is not whole, its keys are looked up in the tree of rows.

internal import EspalierEngine
internal import EspalierModel

/// The keys of all rows of a store.
struct KeyPresence {
    /// 8 MiB of blocks: they hold 33,554,432 keys without gaps, or 524,288 keys that are far apart.
    private static let blockCountMax = 1 << 19

    private let session: ReadSession
    /// By entity number.
    private var keys: [KeySet]
    private var blockCount = 0

    init(_ session: ReadSession) {
        self.session = session
        keys = Array(repeating: KeySet(), count: session.catalog.numbering.entities.count)
    }

    /// Adds a sound row; the rows of a hierarchy are added by ascending key.
    @inline(__always)
    mutating func append(_ key: UInt64, entityNumber: UInt16) {
        assert(key > 0 && Int(entityNumber) < keys.count, "key \(key) of entity \(entityNumber) is not sound")
        guard keys[Int(entityNumber)].append(key) else { return }
        blockCount += 1
        if blockCount > Self.blockCountMax { keys[Int(entityNumber)].giveUp() }
    }

    /// Whether there is a row of exactly this entity with this key.
    @inline(__always)
    func contains(_ key: UInt64, entityNumber: UInt16) throws(StoreError) -> Bool {
        guard Int(entityNumber) < keys.count else { return false }
        if keys[Int(entityNumber)].isWhole { return keys[Int(entityNumber)].contains(key) }
        return try isStored(key, entityNumber)
    }

    /// The number of the row's entity, one of `numbers`, if there is a row with this key.
    func entityNumber(of key: UInt64, among numbers: [UInt16]) throws(StoreError) -> UInt16? {
        for number in numbers where try contains(key, entityNumber: number) { return number }
        return nil
    }

    private func isStored(_ key: UInt64, _ entityNumber: UInt16) throws(StoreError) -> Bool {
        assert(!keys[Int(entityNumber)].isWhole, "the keys of entity \(entityNumber) are known")
        guard let entity = session.catalog.numbering.entity(entityNumber) else { return false }
        do throws(StoreError) {
            let found = try session.transaction.withValue(of: key, in: session.catalog.rowTree(of: entity)) {
                row throws(StoreError) in try session.catalog.check(row, in: entity, key: key)
            }
            return found == entityNumber
        } catch .damagedContent {
            return false
        }
    }
}
