// The layouts and the meaning of entity numbers of one open store: everything that is needed to read its rows.
//
// Invariants
//   1. Immutable: snapshots keep it alive and read it from any thread.
//   2. Every entity of the model has a number, and that number means this entity. A layout has the index of its number.

internal import EspalierModel

/// The layouts and entity numbers of an open store.
final class StoreNumbering: Sendable {
    /// The numbering of rows that were never encoded.
    static let none = StoreNumbering(storeTag: 0, layouts: [], entities: [], entityNumbers: [], currentLayouts: [])

    /// The store's number in object IDs of this process.
    let storeTag: UInt32
    /// By layout number.
    let layouts: [RowLayout?]
    /// The same layouts as plain numbers, for reading rows.
    let shapes: RowLayout.Shapes
    /// By entity number: the entity in the open model.
    let entities: [Entity?]
    /// By index in the model: the entity's number.
    let entityNumbers: [UInt16]
    /// By index in the model: the layout of new rows; `nil` for abstract entities.
    let currentLayouts: [RowLayout?]
    private let numberByTag: EntityTagTable<UInt16>
    /// By entity number: the tag that IDs have, and the root of the hierarchy; `nil` if the open model lacks the
    /// entity.
    private let marks: [(tag: UInt32, root: Int)?]
    /// By index in the model, then by entity number: whether the number belongs to the entity's family.
    private let families: [[Bool]]

    init(
        storeTag: UInt32, layouts: [RowLayout?], entities: [Entity?], entityNumbers: [UInt16],
        currentLayouts: [RowLayout?]
    ) {
        self.storeTag = storeTag
        self.layouts = layouts
        shapes = RowLayout.Shapes(layouts)
        marks = entities.map { entity in entity.map { ($0.tag, $0.root) } }
        self.entities = entities
        self.entityNumbers = entityNumbers
        self.currentLayouts = currentLayouts
        numberByTag = EntityTagTable(
            entities.enumerated().compactMap { number, entity in entity.map { ($0.tag, UInt16(number)) } })
        families = entityNumbers.map { number in
            let family = entities[Int(number)]?.family ?? []
            var isMember = [Bool](repeating: false, count: entities.count)
            for index in family { isMember[Int(entityNumbers[index])] = true }
            return isMember
        }
        assert(checkInvariants())
    }

    /// By entity number: whether rows of that entity are rows of `entity`.
    func isWanted(_ entity: Entity, includesSubentities: Bool) -> [Bool] {
        assert(self.entity(entityNumbers[entity.index]) === entity, "\(entity.name) is of another model")
        if includesSubentities || entity.family.count == 1 { return families[entity.index] }
        var isWanted = [Bool](repeating: false, count: entities.count)
        isWanted[Int(entityNumbers[entity.index])] = true
        return isWanted
    }

    /// The layout with this number.
    func layout(_ number: UInt16) -> RowLayout? { Int(number) < layouts.count ? layouts[Int(number)] : nil }

    /// The entity with this number.
    func entity(_ number: UInt16) -> Entity? { Int(number) < entities.count ? entities[Int(number)] : nil }

    /// The index of the root of the hierarchy to which the entity with this number belongs.
    func root(ofEntity number: UInt16) -> Int? { Int(number) < marks.count ? marks[Int(number)]?.root : nil }

    /// Whether there is an entity with this number in the open model.
    @inline(__always)
    func isKnown(entityNumber: UInt16) -> Bool { Int(entityNumber) < marks.count && marks[Int(entityNumber)] != nil }

    /// The ID of a row; `nil` if there is no such entity, or for key 0.
    @inline(__always)
    func id(entityNumber: UInt16, key: UInt64) -> ObjectID? {
        guard key != 0, Int(entityNumber) < marks.count, let mark = marks[Int(entityNumber)] else { return nil }
        return ObjectID(storeTag: storeTag, entityTag: mark.tag, key: key)
    }

    /// Whether `id` can be the ID of a row of this store.
    func isOwn(_ id: ObjectID) -> Bool { id.storeTag == storeTag && numberByTag[id.entityTag] != nil }

    /// An ID in the form that rows and indexes hold; the ID belongs to this store's model.
    func reference(_ id: ObjectID) -> (entity: UInt16, key: UInt64) {
        assert(!id.isTemporary && id.storeTag == storeTag, "\(id) names no row of this store")
        return (entityNumber(ofTag: id.entityTag), id.key)
    }

    /// The number of the entity whose IDs have `tag`, one of this store's model.
    func entityNumber(ofTag tag: UInt32) -> UInt16 {
        guard let number = numberByTag[tag] else {
            preconditionFailure("entity tag \(tag) does not belong to this store")
        }
        return number
    }

    // MARK: Invariants

    /// Asserts invariant 2; to be called in `assert`.
    private func checkInvariants() -> Bool {
        assert(entityNumbers.count == currentLayouts.count, "\(entityNumbers.count) entities have layouts")
        assert(shapesAgree(), "shapes do not have the numbers of the layouts")
        for (index, number) in entityNumbers.enumerated() {
            assert(entity(number)?.index == index, "number \(number) does not belong to entity \(index)")
            guard let layout = currentLayouts[index] else { continue }
            assert(
                entity(layout.entityNumber)?.index == index,
                "layout \(layout.number) does not belong to entity \(index)")
            assert(self.layout(layout.number) != nil, "layout \(layout.number) is not among the layouts")
        }
        for case let (number, layout?) in layouts.enumerated() {
            assert(Int(layout.number) == number, "layout \(layout.number) has position \(number)")
        }
        return true
    }

    /// Whether there is a shape exactly for each layout, of the same entity.
    private func shapesAgree() -> Bool {
        layouts.indices.allSatisfy { shapes[UInt16($0)]?.entityNumber == layouts[$0]?.entityNumber }
    }
}
