// Gathers the pairs of objects of relationships whose lists change, from older rows and links.
//
// Invariants
//   1. Pairs are gathered before any row changes: keys and entities are those of the older model.
//   2. A pair is dropped if one of its objects no longer exists, or if its owner no longer has the relationship.
//   3. A list without an order gets the order of the primary keys. In a list that is united of two relationships, the
//      pairs of its own come first.

internal import EspalierEngine
internal import EspalierModel

/// One pair of a relationship in the older model.
private struct Pair {
    var owner: (number: UInt16, key: UInt64)
    var destination: (number: UInt16, key: UInt64)
    /// The position in a list that keeps its order.
    var position: UInt64?
}

/// The relationship that gets the pairs of an older one.
private struct PairPlace {
    let relationship: Relationship
    let former: Relationship
    /// Whether the destinations of the older relationship are the owners now.
    let isReversed: Bool
    /// Whether another older relationship may have supplied a pair before.
    let mayExist: Bool
    /// The tree of the list, or of the pairs of a to-one relationship.
    let links: Tree<[UInt8]>?
    let owners: Tree<[UInt8]>?

    var isOrdered: Bool { relationship.isOrdered && relationship.isToMany }
}

extension MigrationRun {
    /// The trees with the pairs of to-one relationships, by relationship of the newer model.
    typealias GatheredPairs = [RelationshipID: Tree<[UInt8]>]

    /// Fills the trees of lists that are new, and trees of pairs for relationships that lead to one object now.
    func gatherPairs(
        _ catalog: StoreCatalog, in transaction: inout StoreTransaction<WriteTransaction>
    ) throws(StoreError) -> GatheredPairs {
        var gathered: GatheredPairs = [:]
        for entity in match.new.entities {
            for relationship in entity.relationships where relationship.declaredBy == entity.index {
                let origin = origins[relationship]
                if !relationship.isToMany {
                    guard origin.needsPairs else { continue }
                    let tree = try trees.makeTemporary(in: &transaction)
                    gathered[RelationshipID(relationship)] = tree
                    try gather(relationship, origin, into: tree, owners: nil, &transaction)
                    continue
                }
                let kept = keptLinks(of: relationship)
                let owners = catalog.ownerTree(of: relationship)
                let keepsOwners = owners == nil || kept.map { oldCatalog.ownerTree(of: $0) != nil } ?? false
                guard kept == nil || !keepsOwners else { continue }
                try gather(
                    relationship, origin, into: kept == nil ? catalog.linkTree(of: relationship) : nil,
                    owners: keepsOwners && kept != nil ? nil : owners, &transaction)
            }
        }
        return gathered
    }

    private func gather(
        _ relationship: Relationship, _ origin: PairOrigin, into links: Tree<[UInt8]>?, owners: Tree<[UInt8]>?,
        _ transaction: inout StoreTransaction<WriteTransaction>
    ) throws(StoreError) {
        assert(links != nil || owners != nil, "pairs of \(relationship.name) are gathered for no tree")
        if let links, relationship.isOrdered, origin.isUnion {
            assert(owners == nil, "\(relationship.name) has an inverse")
            return try uniteLists(relationship, origin, into: links, &transaction)
        }
        for (former, isReversed) in origin.relationships.map({ ($0, false) }) + origin.reversed.map({ ($0, true) }) {
            let place = PairPlace(
                relationship: relationship, former: former, isReversed: isReversed,
                mayExist: isReversed && origin.isUnion, links: links, owners: owners)
            if former.isToMany {
                try gatherLinks(place, &transaction)
            } else {
                try gatherReferences(place, &transaction)
            }
        }
    }

    /// Fills ordered lists with the pairs of two relationships: those of the list itself in their order, then those
    /// that only the other side has.
    private func uniteLists(
        _ relationship: Relationship, _ origin: PairOrigin, into links: Tree<[UInt8]>,
        _ transaction: inout StoreTransaction<WriteTransaction>
    ) throws(StoreError) {
        let linkCount = outcome.linksWritten
        // The pairs of the lists themselves; and all in order, with a byte after the owner that tells the side.
        let known = try trees.makeTemporary(in: &transaction)
        let sorted = try trees.makeTemporary(in: &transaction)
        for side in [PairOrigin(relationships: origin.relationships), PairOrigin(reversed: origin.reversed)] {
            let isOwn = side.reversed.isEmpty
            let found = try trees.makeTemporary(in: &transaction)
            try gather(relationship, side, into: found, owners: nil, &transaction)
            var cursor = try transaction.cursor(over: found)
            while try cursor.next() {
                let (key, value) = try cursor.copiedEntry()
                assert(key.count == LinkKey.orderedByteCount, "the key of a gathered pair has \(key.count) bytes")
                let pair = Array(key[0..<8] + key[16..<24])
                if isOwn {
                    try transaction.put(value, for: pair, in: known)
                } else if try transaction.get(pair, from: known) != nil {
                    continue
                }
                try transaction.put(value, for: Array(key[0..<8] + [isOwn ? 0 : 1] + key[8..<24]), in: sorted)
            }
        }
        outcome.linksWritten = linkCount
        var (owner, position): (ArraySlice<UInt8>, UInt64) = ([], 0)
        var cursor = try transaction.cursor(over: sorted)
        while try cursor.next() {
            let (key, value) = try cursor.copiedEntry()
            assert(key.count == LinkKey.orderedByteCount + 1, "the key of a sorted pair has \(key.count) bytes")
            if key[0..<8] != owner { (owner, position) = (key[0..<8], 0) }
            position += 1 << 20
            var place = Array(owner)
            place.append(bigEndian: position)
            try transaction.put(value, for: place + key[17..<25], in: links)
            outcome.linksWritten += 1
        }
    }

    private func gatherReferences(
        _ place: PairPlace, _ transaction: inout StoreTransaction<WriteTransaction>
    ) throws(StoreError) {
        let former = place.former
        assert(!former.isToMany, "\(former.name) is a list")
        let declaring = match.old.entities[former.declaredBy]
        let reader = RowReader(numbering: oldCatalog.numbering)
        var cursor = try transaction.cursor(over: try trees.current(oldCatalog.rowTree(of: declaring)))
        while try cursor.next() {
            try units.advance()
            let key = try cursor.key
            var pair: Pair?
            try cursor.withValue { row throws(StoreError) in
                let number = try oldCatalog.check(row, in: declaring, key: key)
                guard oldCatalog.numbering.entity(number)?.isKind(of: declaring) == true,
                    let reference = reader.reference(at: former.slot, row)
                else { return }
                pair = Pair(owner: (number, key), destination: (reference.entity, reference.key))
            }
            guard let pair else { continue }
            try put(pair, in: place, &transaction)
        }
    }

    private func gatherLinks(
        _ place: PairPlace, _ transaction: inout StoreTransaction<WriteTransaction>
    ) throws(StoreError) {
        let former = place.former
        assert(former.isToMany, "\(former.name) is no list")
        let tree = try trees.current(oldCatalog.linkTree(of: former))
        let declaring = match.old.entities[former.declaredBy]
        let rows = try trees.current(oldCatalog.rowTree(of: declaring))
        let keyByteCount = former.isOrdered ? 24 : LinkKey.unorderedByteCount
        var owner: (number: UInt16?, key: UInt64) = (nil, 0)
        var cursor = try transaction.cursor(over: tree)
        while try cursor.next() {
            try units.advance()
            var (ownerKey, destination, position): (UInt64, (UInt16, UInt64), UInt64?) = (0, (0, 0), nil)
            try cursor.withEntry { key, value throws(StoreError) in
                guard key.byteCount == keyByteCount, value.byteCount == LinkKey.valueByteCount else {
                    throw .damaged(
                        entity: declaring.name, key: 0, reason: "an entry of tree \"\(tree.name)\" is not a link")
                }
                ownerKey = key.bigEndianKey(at: 0)
                destination = (value.number(at: 0), key.bigEndianKey(at: keyByteCount - 8))
                if former.isOrdered { position = key.bigEndianKey(at: 8) }
            }
            if owner.key != ownerKey {
                owner = (nil, ownerKey)
                owner.number = try transaction.withValue(of: ownerKey, in: rows) { row throws(StoreError) in
                    try oldCatalog.check(row, in: declaring, key: ownerKey)
                }
            }
            guard let number = owner.number else { continue }
            let pair = Pair(owner: (number, ownerKey), destination: destination, position: position)
            try put(pair, in: place, &transaction)
        }
    }

    /// Writes a pair to its place in the newer model, if both objects exist and have the relationship.
    private func put(
        _ found: Pair, in place: PairPlace, _ transaction: inout StoreTransaction<WriteTransaction>
    ) throws(StoreError) {
        let relationship = place.relationship
        var pair = found
        if place.isReversed { (pair.owner, pair.destination, pair.position) = (found.destination, found.owner, nil) }
        guard let owner = fates[pair.owner.number], let destination = fates[pair.destination.number],
            owner.entity.isKind(of: match.new.entities[relationship.declaredBy]),
            isContinued(place, owner.entity, destination.entity)
        else { return }
        guard destination.entity.isKind(of: match.new.destination(of: relationship)) else {
            failures.add(
                subject(relationship), .otherDestination,
                oldCatalog.numbering.id(entityNumber: pair.owner.number, key: pair.owner.key))
            return
        }
        assert(oldCatalog.numbering.isKnown(entityNumber: pair.owner.number), "an owner of a removed entity has a fate")
        let (from, to) = (pair.owner.key &+ owner.offset, pair.destination.key &+ destination.offset)
        if let links = place.links {
            let key =
                place.isOrdered
                ? LinkKey.ordered(from, position: pair.position ?? Self.position(ofKey: to), to)
                : LinkKey.unordered(from, to)
            if place.mayExist, try transaction.get(key, from: links) != nil { return }
            try transaction.put(LinkKey.value(entityNumber: pair.destination.number), for: key, in: links)
            outcome.linksWritten += 1
        }
        if let owners = place.owners {
            try transaction.put(
                LinkKey.value(entityNumber: pair.owner.number), for: LinkKey.unordered(to, from), in: owners)
        }
    }

    /// Whether the object with the older relationship has the newer relationship that continues it.
    private func isContinued(_ place: PairPlace, _ owner: Entity, _ destination: Entity) -> Bool {
        let relationship = place.relationship
        guard place.isReversed else {
            return match.relationships[owner.index][relationship.slot] == place.former.slot
        }
        // The inverse continues it; the caller reports a destination of another entity.
        guard let slot = relationship.inverse, match.relationships[destination.index].indices.contains(slot) else {
            return true
        }
        return match.relationships[destination.index][slot] == place.former.slot
    }

    /// A position in the order of the keys, with room between neighbors and before the first.
    private static func position(ofKey key: UInt64) -> UInt64 {
        let (spread, isTooLarge) = key.multipliedReportingOverflow(by: 1 << 20)
        return isTooLarge ? key : spread
    }

    func subject(_ relationship: Relationship) -> String {
        "\(match.new.entities[relationship.declaredBy].name).\(relationship.name)"
    }
}

extension StoreCursor where Key == [UInt8] {
    /// Copies of the key and the value of the present entry.
    fileprivate func copiedEntry() throws(StoreError) -> (key: [UInt8], value: [UInt8]) {
        var entry: (key: [UInt8], value: [UInt8]) = ([], [])
        try withEntry { key, value throws(StoreError) in
            entry = (key.copy(0..<key.byteCount), value.copy(0..<value.byteCount))
        }
        return entry
    }
}
