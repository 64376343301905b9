// The fate of the rows with each entity number: their entity, their hierarchy, and their keys.
//
// Invariants
//   1. Entity numbers do not change: a row that is kept has the same one, and references name it by the same one.
//   2. Rows of one older hierarchy that belong to one newer one have the same offset: their order does not change.

internal import EspalierEngine
internal import EspalierModel

/// The fate of the rows with one entity number.
struct EntityFate {
    /// The entity of the newer model.
    let entity: Entity
    /// The number that is added to their primary keys.
    let offset: UInt64
    /// Whether the tree that has them is the tree of their hierarchy in the newer model.
    let staysInPlace: Bool
}

/// The fates of all rows.
struct EntityFates {
    /// By entity number; `nil` for removed entities, and for abstract ones.
    private(set) var byNumber: [EntityFate?]
    /// By root of a newer hierarchy: the last primary key that counts as allocated.
    private(set) var lastKeys: [ManagedObjectModel.EntityIndex: UInt64] = [:]
    /// By root of an older hierarchy: the same.
    private(set) var formerLastKeys: [ManagedObjectModel.EntityIndex: UInt64] = [:]

    init(
        _ match: ModelMatch, _ catalog: StoreCatalog, in transaction: borrowing StoreTransaction<WriteTransaction>
    ) throws(StoreError) {
        byNumber = Array(repeating: nil, count: catalog.numbering.entities.count)
        let numbers = catalog.numbering.entityNumbers
        for entity in match.old.entities where entity.root == entity.index {
            formerLastKeys[entity.index] = try transaction.counter(
                Counter.lastKey(rootNumber: numbers[entity.index]), catalog)
        }
        for hierarchy in match.hierarchies {
            var next: UInt64 = 0
            for (position, source) in hierarchy.sources.enumerated() {
                for entity in match.old.entities where entity.root == source && !entity.isAbstract {
                    guard let newer = match.newEntities[entity.index],
                        match.new.entities[newer].root == hierarchy.root
                    else { continue }
                    byNumber[Int(numbers[entity.index])] = EntityFate(
                        entity: match.new.entities[newer], offset: next,
                        staysInPlace: position == 0 && hierarchy.takesOver)
                }
                let (sum, isTooLarge) = next.addingReportingOverflow(formerLastKeys[source] ?? 0)
                guard !isTooLarge else {
                    throw .damaged(reason: "the counters of primary keys are impossible: their sum exceeds 64 bits")
                }
                next = sum
            }
            lastKeys[hierarchy.root] = next
        }
        assert(self[0] == nil, "an entity has number 0")
        assert(byNumber.allSatisfy { $0.map { $0.offset <= lastKeys[$0.entity.root] ?? 0 } ?? true }, "an offset")
    }

    /// The fate of the rows with this entity number.
    subscript(number: UInt16) -> EntityFate? { Int(number) < byNumber.count ? byNumber[Int(number)] : nil }
}
