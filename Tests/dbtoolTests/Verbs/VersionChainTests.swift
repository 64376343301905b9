// The versions of models of other projects, one after the other, from the first to the last: rows that were made in
// each version keep their values, and lists their members in their orders.

import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct VersionChainTests {
    /// The rows of an entity, in the order of their keys.
    private struct Rows: Equatable {
        /// By attribute.
        var columns: [String: [AttributeValue]] = [:]
        /// The keys of the destinations by relationship: in list order if it is ordered, else ascending.
        var lists: [String: [[UInt64]]] = [:]
        var count = 0
    }

    /// The rows of a store by entity, without those of subentities.
    private func rows(_ path: String) throws -> [String: Rows] {
        let store = try BTreeStore.openWithStoredModel(path: path)
        defer { try? store.close() }
        var found: [String: Rows] = [:]
        for entity in store.model.entities where !entity.isAbstract {
            let ids = try store.fetchIDs(StoreFetch(entity: entity, includesSubentities: false))
            let snapshots = try store.snapshots(of: ids)
            var rows = Rows(count: ids.count)
            for attribute in entity.attributes where !attribute.isTransient {
                rows.columns[attribute.name] = snapshots.map { $0?.value(at: attribute.slot) ?? .null }
            }
            for relationship in entity.relationships {
                let lists =
                    relationship.isToMany
                    ? try store.destinations(of: relationship, for: ids).map { $0.map(\.key) }
                    : snapshots.map { $0?.destination(at: relationship.slot).map { [$0.key] } ?? [] }
                rows.lists[relationship.name] = relationship.isOrdered ? lists : lists.map { $0.sorted() }
            }
            found[entity.name] = rows
        }
        return found
    }

    /// Migrates a store by the tool, and expects that both checks find nothing.
    private func migrate(
        _ path: String, from before: ManagedObjectModel, to after: ManagedObjectModel, _ folder: URL, _ trace: String
    ) throws {
        // A store without rows carries the model to the tool.
        let file = folder.appending(path: "\(UUID())").path
        try BTreeStore.open(path: file, model: after).close()
        let losses = ModelDifference(from: before, to: after).losses.map(\.name).joined(separator: ",")
        if !losses.isEmpty { #expect(ToolRun("migrate", path, "--model", file).code == 1, "\(trace)") }

        let dry = ToolRun("migrate", path, "--model", file, "--allow", losses, "--dry-run")
        let run = ToolRun("migrate", path, "--model", file, "--allow", losses)

        #expect(dry.code == run.code && run.code == 0, "\(trace): \(run.output)\(run.errors)")
        #expect(ToolRun("check", path).code == 0 && ToolRun("audit", path).code == 0, "\(trace)")
        #expect(ToolRun("diff-models", path, file).code == 0, "\(trace)")
    }

    /// The newer name of a property of an entity that keeps its name, and the change that renames it.
    private func successor(
        of name: String, in entity: Entity, _ difference: ModelDifference, _ model: ManagedObjectModel
    ) -> (name: String, change: ModelChange?) {
        let change = difference.changes.first { change in
            change.kind == .propertyRenamed(from: name)
                && model.entity(named: change.entity).map { entity.isKind(of: $0) } == true
        }
        return (change?.property ?? name, change)
    }

    /// Expects that rows of an entity have what they had, and nothing else but defaults; returns the names of the
    /// properties that were renamed.
    private func compare(
        _ former: Rows, _ found: Rows, _ older: Entity, _ newer: Entity, _ difference: ModelDifference,
        _ model: ManagedObjectModel, _ trace: String
    ) -> Set<String> {
        var (renamed, continued): (Set<String>, Set<String>) = ([], [])
        func name(after name: String) -> String {
            let next = successor(of: name, in: newer, difference, model)
            if let change = next.change { renamed.insert(change.subject) }
            continued.insert(next.name)
            return next.name
        }
        #expect(found.count == former.count, "\(trace)")
        for attribute in older.attributes where former.columns[attribute.name] != nil {
            guard let next = newer.attribute(named: name(after: attribute.name)) else { continue }
            // No real version changes a type; the values would have to be compared in another way.
            #expect(next.type == attribute.type, "\(trace).\(attribute.name)")
            #expect(found.columns[next.name] == former.columns[attribute.name], "\(trace).\(attribute.name)")
        }
        for relationship in older.relationships {
            guard let next = newer.relationship(named: name(after: relationship.name)) else { continue }
            let (lists, formerLists) = (found.lists[next.name] ?? [], former.lists[relationship.name] ?? [])
            let isInOrder = relationship.isOrdered == next.isOrdered
            #expect(
                isInOrder ? lists == formerLists : lists.map { $0.sorted() } == formerLists.map { $0.sorted() },
                "\(trace).\(relationship.name)")
        }
        for attribute in newer.attributes where !attribute.isTransient && !continued.contains(attribute.name) {
            let expected = Array(repeating: attribute.defaultValue, count: former.count)
            #expect(found.columns[attribute.name] == expected, "\(trace).\(attribute.name)")
        }
        for relationship in newer.relationships where !continued.contains(relationship.name) {
            #expect(found.lists[relationship.name]?.allSatisfy(\.isEmpty) == true, "\(trace).\(relationship.name)")
        }
        return renamed
    }

    @Test(arguments: zip(RealVersions.chains, [1, 0, 0, 1, 0, 0]))
    func `rows that were made in each version of a real model arrive in the last one, with the orders of their lists`(
        chain: [String], renamedCount: Int
    ) throws {
        let seed = testSeed(default: 41_000)
        var generated = GeneratedRows(seed: seed)
        var renamed: Set<String> = []
        try withTemporaryFolder { folder in
            let path = folder.appending(path: "store.espalier").path
            func add(_ store: BTreeStore, meeting demands: ManagedObjectModel) throws {
                try generated.add(10, to: store, meeting: demands)
                try store.close()
            }
            let first = try RealVersions.model(chain[0])
            try add(try BTreeStore.open(path: path, model: first), meeting: first)
            for (old, new) in zip(chain, chain.dropFirst()) {
                let trace = "seed \(seed), \(new)"
                let (before, last) = (try RealVersions.model(old), try RealVersions.model(new))
                let after = try RealVersions.between(before, last)
                let former = try rows(path)

                try migrate(path, from: before, to: after, folder, trace)

                let (found, difference) = (try rows(path), ModelDifference(from: before, to: after))
                for older in before.entities where !older.isAbstract {
                    guard let newer = after.entity(named: older.name) else { continue }
                    renamed.formUnion(
                        compare(
                            try #require(former[older.name]), try #require(found[older.name]), older, newer, difference,
                            after, "\(trace): \(older.name)"))
                }
                // Rows of this version, and the members that it requires of older rows too.
                try add(try BTreeStore.open(path: path, model: after, migration: .off), meeting: last)
                let whole = try rows(path)
                try migrate(path, from: after, to: last, folder, trace)
                #expect(try rows(path) == whole, "\(trace)")
            }
            #expect(renamed.count == renamedCount, "\(renamed)")
        }
    }
}
