// The check of links: every list against the rows it speaks of, and against its other direction.

internal import EspalierEngine
internal import EspalierModel

/// A link as both directions tell it.
private struct Pair: Hashable, Comparable {
    let owner: UInt64
    let destination: UInt64

    static func < (left: Pair, right: Pair) -> Bool {
        (left.owner, left.destination) < (right.owner, right.destination)
    }
}

extension StoreCheck {
    /// Checks the lists of one to-many relationship.
    mutating func checkLinks(_ relationship: Relationship) throws(Stop) {
        let tree = catalog.linkTree(of: relationship)
        let entity = model.entities[relationship.declaredBy]
        let inverse = model.inverse(of: relationship)
        let pairs = try readPairs(
            tree, keyByteCount: relationship.isOrdered ? 24 : 16, entity, model.destination(of: relationship))
        report.linkCount += pairs.count
        for index in pairs.indices.dropFirst() where pairs[index] == pairs[index - 1] {
            note(entity, tree, "\(pairs[index].owner)", "\(pairs[index].destination) stands twice in the list")
        }
        if let inverse, !inverse.isToMany {
            try checkInline(pairs, relationship, inverse, tree)
        } else if let inverse {
            let back = try readPairs(
                catalog.linkTree(of: inverse), keyByteCount: inverse.isOrdered ? 24 : 16,
                model.destination(of: relationship),
                model.destination(of: inverse))
            compare(pairs, back, tree, catalog.linkTree(of: inverse), entity)
        } else if let ownerTree = catalog.ownerTree(of: relationship) {
            let back = try readPairs(ownerTree, keyByteCount: 16, model.destination(of: relationship), entity)
            compare(pairs, back, tree, ownerTree, entity)
        }
    }

    /// The links of a tree, sorted; notes those that are none, or lead to an entity they cannot lead to.
    private mutating func readPairs(
        _ tree: Tree, keyByteCount: Int, _ entity: Entity, _ destination: Entity
    ) throws(Stop) -> [Pair] {
        var pairs: [Pair] = []
        var problems: [(key: [UInt8], problem: String)] = []
        let context = catalog.context
        try forEachEntry(of: tree) { key, value in
            guard key.count == keyByteCount, value.count == 2,
                let id = context.id(entityNumber: value.number(at: 0), key: key.bigEndianKey(at: keyByteCount - 8))
            else {
                problems.append((key, "the entry is no link"))
                return
            }
            if context.entity(value.number(at: 0))?.isKind(of: destination) != true {
                problems.append((key, "the link leads to \(id), which is no \(destination.name)"))
            }
            pairs.append(Pair(owner: key.bigEndianKey(at: 0), destination: id.key))
        }
        for problem in problems { note(entity, tree, Self.hexadecimal(problem.key), problem.problem) }
        return pairs.sorted()
    }

    /// A list must name exactly the rows whose to-one relationship leads to its owner.
    private mutating func checkInline(
        _ pairs: [Pair], _ relationship: Relationship, _ inverse: Relationship, _ tree: Tree
    ) throws(Stop) {
        let entity = model.entities[relationship.declaredBy]
        let members = model.destination(of: relationship)
        for pair in pairs {
            try countStep()
            let owner = try member(pair.destination, members)
                .flatMap { row throws(Stop) in
                    try reading { () throws(StoreError) in try row.destinationID(at: inverse.slot) }
                }
            if owner?.key != pair.owner {
                let problem =
                    "the list names \(members.name) \(pair.destination), whose \(inverse.name) leads elsewhere"
                note(entity, tree, "\(pair.owner)", problem)
            }
        }
        let expected = inlineCounts[RelationshipID(relationship)] ?? 0
        if pairs.count != expected {
            let problem = "there are \(pairs.count) links for \(expected) rows with a value of \(inverse.name)"
            note(entity, tree, "", problem)
        }
    }

    /// The row of an entity of `members`' family with this key.
    private func member(_ key: UInt64, _ members: Entity) throws(Stop) -> StoredRow? {
        for index in members.family {
            guard let id = catalog.context.id(entityNumber: catalog.context.entityNumbers[index], key: key),
                let row = try sound(id)
            else { continue }
            return row
        }
        return nil
    }

    /// The two directions of links must say the same.
    private mutating func compare(_ pairs: [Pair], _ back: [Pair], _ tree: Tree, _ backTree: Tree, _ entity: Entity) {
        let turned = Set(back.map { Pair(owner: $0.destination, destination: $0.owner) })
        for pair in pairs where !turned.contains(pair) {
            let problem = "the link to \(pair.destination) is missing in tree \"\(backTree.name)\""
            note(entity, tree, "\(pair.owner)", problem)
        }
        let here = Set(pairs)
        for pair in turned where !here.contains(pair) {
            let problem = "the link from \(pair.owner) is missing in tree \"\(tree.name)\""
            note(entity, backTree, "\(pair.destination)", problem)
        }
    }
}
