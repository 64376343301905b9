// Answers about one to-many list that need no array of it: its length, and whether it has a destination.
//
// Invariants
//   1. A count reads the leaves of the list, and of its entries only the first and the last. The contents of entries
//      are checked by the methods that read them.
//   2. A membership test is one lookup if a tree has both keys of a link beside each other: the tree of an unordered
//      list, or the tree that leads back. Between two ordered ends the list is read.

internal import EspalierEngine
public import EspalierModel

extension BTreeSnapshot {
    /// How many destinations a to-many relationship of `owner` has, or `limit` if there are more.
    ///
    /// - Complexity: O(log n + n / entries of a leaf), for n destinations; a leaf of 4,096 bytes has about 130 entries.
    public func destinationCount(
        of relationship: Relationship, for owner: ObjectID, limit: Int
    ) throws(StoreError) -> Int {
        try checkLists(of: relationship, for: [owner])
        return try withSession(for: owner) { session, owner throws(StoreError) in
            try session.transaction.linkCount(of: owner.key, relationship, catalog, limit: limit)
        }
    }

    /// Whether `destination` is one of the destinations of a to-many relationship of `owner`.
    ///
    /// - Complexity: O(log n); O(destinations) if the relationship is ordered and its inverse is ordered or to-one.
    public func hasDestination(
        _ destination: ObjectID, of relationship: Relationship, for owner: ObjectID
    ) throws(StoreError) -> Bool {
        try checkLists(of: relationship, for: [owner])
        _ = try SaveChecks.entity(of: destination, schema: catalog.schema, storeTag: catalog.numbering.storeTag)
        return try withSession(for: owner) { session, owner throws(StoreError) in
            try hasDestination(destination, of: relationship, for: owner, session)
        }
    }

    private func hasDestination(
        _ destination: ObjectID, of relationship: Relationship, for owner: ObjectID, _ session: ReadSession
    ) throws(StoreError) -> Bool {
        assert(relationship.isToMany && catalog.hasLinkTree(of: relationship), "\(relationship.name) was not checked")
        func hasLink(from source: ObjectID, to target: ObjectID, in tree: Tree<[UInt8]>) throws(StoreError) -> Bool {
            try session.transaction.hasLink(from: source, to: target, in: tree, catalog)
        }
        if !relationship.isOrdered {
            return try hasLink(from: owner, to: destination, in: catalog.linkTree(of: relationship))
        }
        if let inverse = catalog.model.inverse(of: relationship), inverse.isToMany, !inverse.isOrdered {
            return try hasLink(from: destination, to: owner, in: catalog.linkTree(of: inverse))
        }
        if let tree = catalog.ownerTree(of: relationship) {
            return try hasLink(from: destination, to: owner, in: tree)
        }
        return try session.transaction.links(of: owner.key, relationship, catalog)
            .contains(destination)
    }

    /// Throws unless `relationship` is to-many and each of `owners` belongs to this store and has the relationship.
    func checkLists(of relationship: Relationship, for owners: [ObjectID]) throws(StoreError) {
        guard relationship.isToMany, catalog.hasLinkTree(of: relationship) else {
            throw .invalidRequest(reason: "relationship \(relationship.name) is to-one; read it from the row")
        }
        let declaring = catalog.model.entities[relationship.declaredBy]
        for owner in owners {
            let entity = try SaveChecks.entity(of: owner, schema: catalog.schema, storeTag: catalog.numbering.storeTag)
            guard entity.isKind(of: declaring) else {
                throw .invalidRequest(reason: "\(entity.name) has no relationship \(relationship.name)")
            }
        }
    }
}

extension StoreTransaction where Base: ~Copyable {
    /// How many destinations a to-many relationship has, or `limit` if there are more.
    fileprivate func linkCount(
        of owner: UInt64, _ relationship: Relationship, _ catalog: StoreCatalog, limit: Int
    ) throws(StoreError) -> Int {
        assert(catalog.hasLinkTree(of: relationship), "\(relationship.name) was not checked")
        var (lower, upper): ([UInt8], [UInt8]) = ([], [])
        lower.append(bigEndian: owner)
        upper.append(bigEndian: owner &+ 1)
        var entries = try lookup(in: catalog.linkTree(of: relationship))
        return try withStoreErrors(
            try entries.countEntries(from: lower, below: owner == .max ? nil : upper, limit: limit))
    }

    /// Whether `tree`, whose keys are two primary keys without a position, has the link from `source` to `target`.
    fileprivate func hasLink(
        from source: ObjectID, to target: ObjectID, in tree: Tree<[UInt8]>, _ catalog: StoreCatalog
    ) throws(StoreError) -> Bool {
        guard let value = try get(LinkKey.unordered(source.key, target.key), from: tree) else { return false }
        return value == LinkKey.value(entityNumber: catalog.numbering.reference(target).entity)
    }
}
