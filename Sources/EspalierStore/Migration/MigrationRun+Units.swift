// The units of work that a migration expects, for its progress.

internal import EspalierEngine
internal import EspalierModel

extension MigrationRun {
    /// Expects a unit for each row and each entry of a relationship that the migration reads.
    ///
    /// - Parameters:
    ///   - kept: by position of a newer index: the older one whose tree it adopts.
    ///   - derived: the derived attributes that are computed anew.
    /// - Complexity: O(entities + relationships + indexes): trees know how many entries they have.
    func expectUnits(
        _ catalog: StoreCatalog, keeping kept: [Int?], computing derived: [DerivationPlan.Member],
        in transaction: borrowing StoreTransaction<WriteTransaction>
    ) throws(StoreError) {
        assert(kept.count == schema.groups.count, "\(kept.count) of \(schema.groups.count) groups are decided")
        for root in match.old.entities where root.root == root.index && visitsRows(of: root) {
            units.expect(try transaction.count(of: try trees.current(oldCatalog.rowTree(of: root))))
        }
        for entity in match.new.entities {
            for relationship in entity.relationships where relationship.declaredBy == entity.index {
                let origin = origins[relationship]
                guard relationship.isToMany ? keptLinks(of: relationship) == nil : origin.needsPairs else { continue }
                for former in origin.sources { try expectUnits(of: former, in: transaction) }
            }
        }
        for position in schema.groups.indices where kept[position] == nil {
            let root = catalog.model.entities[schema.groups[position].entity].root
            units.expect(try transaction.count(of: catalog.rowTree(ofRoot: root)))
        }
        for member in derived {
            units.expect(try transaction.count(of: catalog.rowTree(ofRoot: member.entity.root)))
        }
    }

    /// Expects a unit for each pair of an older relationship.
    private func expectUnits(
        of former: Relationship, in transaction: borrowing StoreTransaction<WriteTransaction>
    ) throws(StoreError) {
        if former.isToMany {
            units.expect(try transaction.count(of: try trees.current(oldCatalog.linkTree(of: former))))
        } else {
            let rows = oldCatalog.rowTree(of: match.old.entities[former.declaredBy])
            units.expect(try transaction.count(of: try trees.current(rows)))
        }
    }
}
