// A file that is opened with a model whose indexes, constraints or required values differ from those of the file: it is
// migrated, or it adopts the model if it may not be migrated.

import EspalierEngine
import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct ModelAdoptionTests {
    /// With a migration, and without one.
    private static let ways = [MigrationOptions.automatic, .off]

    /// A model of people with the subentity of workers; `change` may alter the descriptions.
    private func model(_ change: (inout [EntityDescription]) -> Void = { _ in }) throws -> ManagedObjectModel {
        var entities = [
            EntityDescription(
                "Person",
                attributes: [
                    AttributeDescription("name", .string), AttributeDescription("born", .integer32),
                    AttributeDescription("code", .string, isIndexed: true),
                ],
                relationships: [
                    RelationshipDescription("boss", to: "Person", inverse: "team"),
                    RelationshipDescription("team", to: "Person", inverse: "boss", .toMany),
                ], indexes: [.init("byBirth", on: [.init("born")])]),
            EntityDescription(
                "Worker", superentity: "Person", attributes: [AttributeDescription("room", .integer32)]),
            EntityDescription("Task", attributes: [AttributeDescription("title", .string)]),
        ]
        change(&entities)
        return try ManagedObjectModel(entities: entities)
    }

    /// A closed file with these people; every third one is a worker.
    private func makeStore(at path: String, _ names: [String?], options: DatabaseOptions = .init()) throws {
        let model = try model()
        let store = try BTreeStore.open(path: path, model: model, options: options)
        var request = SaveRequest()
        for (number, name) in names.enumerated() {
            let isWorker = number % 3 == 2
            let values: [AttributeValue] = [
                name.map { .string($0) } ?? .null, .integer(Int64(number % 10)), .string("c\(number)"),
            ]
            request.insertions.append(
                .init(
                    id: ObjectID(temporaryFor: isWorker ? "Worker" : "Person"),
                    values: isWorker ? values + [.integer(Int64(number))] : values, destinations: [nil, nil]))
        }
        _ = try store.save(request)
        try store.close()
    }

    private func find(_ store: BTreeStore, _ entityName: String, _ format: String) throws -> [UInt64] {
        let entity = try #require(store.model.entity(named: entityName))
        let predicate = try ResolvedPredicate(FetchPredicate(format: format), for: entity, in: store.model)
        return try store.fetchIDs(StoreFetch(entity: entity, predicate: predicate)).map(\.key).sorted()
    }

    private func plan(_ store: BTreeStore, _ entityName: String, _ format: String) throws -> String {
        let entity = try #require(store.model.entity(named: entityName))
        let predicate = try ResolvedPredicate(FetchPredicate(format: format), for: entity, in: store.model)
        return try store.explain(StoreFetch(entity: entity, predicate: predicate)).joined(separator: "\n")
    }

    private func treeNames(_ store: BTreeStore) throws -> Set<String> {
        Set(try store.database.beginRead().trees().map(\.tree.name))
    }

    private func reason(_ body: () throws -> Void) -> String? {
        do throws(any Error) { try body() } catch {
            if case .incompatibleModel(_, let reason)? = error as? StoreError { return reason }
        }
        return nil
    }

    /// The rows for which a migration is refused.
    private func failures(_ body: () throws -> Void) -> [MigrationFailure] {
        do throws(any Error) { try body() } catch {
            if case .migrationRefused(_, let refusal)? = error as? StoreError { return refusal.failures }
        }
        return []
    }

    private func conflicts(_ body: () throws -> Void) -> [ConstraintConflict] {
        do throws(any Error) { try body() } catch {
            if case .constraint(let conflicts)? = error as? StoreError { return conflicts }
        }
        return []
    }

    // MARK: Indexes

    @Test(arguments: ways)
    func `a new index is built from the rows, of subentities too, and used`(
        _ way: MigrationOptions
    ) throws {
        try withStorePath { path in
            try makeStore(at: path, (0..<200).map { "name \($0 % 50)" })
            let indexed = try model { entities in
                entities[0].attributes[0].isIndexed = true
                entities[1].indexes = [.init("byRoom", on: [.init("room", isAscending: false), .init("boss")])]
            }

            let store = try BTreeStore.open(path: path, model: indexed, migration: way)

            #expect(try treeNames(store).isSuperset(of: ["index:Person.name", "index:Worker.byRoom"]))
            #expect(try find(store, "Person", "name == 'name 7'") == [8, 58, 108, 158])
            #expect(try find(store, "Worker", "room > 190") == [192, 195, 198])
            #expect(try plan(store, "Person", "name == 'name 7'").contains("index:Person.name"))
            #expect(try store.check().isOK && store.check().indexEntryCount == 200 * 3 + 66)
            try store.close()
            let again = try BTreeStore.openWithStoredModel(path: path)
            #expect(again.model.descriptions == indexed.descriptions)
            #expect(try again.database.check().isOK && again.check().isOK)
            try again.close()
        }
    }

    @Test(arguments: ways)
    func `an index that is gone takes its tree and its counter along`(
        _ way: MigrationOptions
    ) throws {
        try withStorePath { path in
            let long = String(repeating: "x", count: 600)
            let indexed = try model { $0[0].attributes[0].isIndexed = true }
            try makeStore(at: path, [long + "1", long + "2", "short"])
            try BTreeStore.open(path: path, model: indexed, migration: way).close()

            let store = try BTreeStore.open(path: path, model: model { $0[0].indexes = [] }, migration: way)

            #expect(try treeNames(store).isDisjoint(with: ["index:Person.name", "index:Person.byBirth"]))
            #expect(try find(store, "Person", "born == 1 AND name == '\(long)2'") == [2])
            let transaction = try store.database.beginRead()
            let counters = try #require(try transaction.tree(named: "counters", keys: UInt64.self))
            var cursor = try transaction.cursor(over: counters)
            while try cursor.next() { #expect(try cursor.key >> 32 < 3) }
            #expect(try store.check().isOK && store.database.check().isOK)
        }
    }

    @Test(arguments: ways)
    func `an index of the same name over other properties is built anew`(
        _ way: MigrationOptions
    ) throws {
        try withStorePath { path in
            try makeStore(at: path, ["b", "a", "c"])
            let other = try model { $0[0].indexes = [.init("byBirth", on: [.init("born", isAscending: false)])] }

            let store = try BTreeStore.open(path: path, model: other, migration: way)

            #expect(try find(store, "Person", "born >= 1") == [2, 3])
            #expect(try store.check().isOK && store.check().indexEntryCount == 6)
            try store.close()
            let back = try BTreeStore.open(path: path, model: model(), migration: way)
            #expect(try back.check().isOK && find(back, "Person", "born >= 1") == [2, 3])
            try back.close()
        }
    }

    @Test(arguments: ways)
    func `an index of entries larger than the cache is built in several batches`(
        _ way: MigrationOptions
    ) throws {
        try withStorePath { path in
            var options = DatabaseOptions()
            (options.pageSize, options.cacheByteCount) = (4096, 64 * 4096)
            let tail = String(repeating: "y", count: 480)
            try makeStore(at: path, (0..<2000).map { "\($0 * 7919 % 2000) \(tail)" }, options: options)

            let store = try BTreeStore.open(
                path: path, model: model { $0[0].attributes[0].isIndexed = true }, migration: way,
                options: options)

            for number in stride(from: 0, to: 2000, by: 17) {
                #expect(try find(store, "Person", "name BEGINSWITH '\(number) '").count == 1)
            }
            #expect(try store.check().isOK && store.database.check().isOK)
            try store.close()
        }
    }

    // MARK: Constraints

    @Test(arguments: ways)
    func `a constraint that rows obey is kept from then on, and nulls do not take part`(
        _ way: MigrationOptions
    ) throws {
        try withStorePath { path in
            let long = String(repeating: "x", count: 600)
            try makeStore(at: path, ["a", nil, nil, long + "1", long + "2"])
            let unique = try model { $0[0].uniquenessConstraints = [["name"]] }

            let store = try BTreeStore.open(path: path, model: unique, migration: way)

            #expect(try store.check().isOK)
            for name in ["a", long + "2"] {
                var request = SaveRequest()
                request.insertions = [
                    .init(
                        id: ObjectID(temporaryFor: "Person"), values: [.string(name), .null, .null],
                        destinations: [nil, nil])
                ]
                #expect(conflicts { _ = try store.save(request) }.count == 1)
            }
            try store.close()
        }
    }

    @Test(arguments: [0, 600])
    func `a constraint that rows break is refused with both rows, and the file is as it was`(_ length: Int) throws {
        try withStorePath { path in
            let prefix = String(repeating: "x", count: length)
            try makeStore(at: path, ["a", "b", "c", "b", nil, "b", "a"].map { $0.map { prefix + $0 } })
            let unique = try model {
                $0[0].uniquenessConstraints = [["name"]]
                $0[0].indexes = []
            }

            let found = conflicts { _ = try BTreeStore.open(path: path, model: unique, migration: .off) }
            let refused = failures { _ = try BTreeStore.open(path: path, model: unique) }

            let pairs = found.map { [$0.object.key, $0.other.key].sorted() }.sorted { $0[0] < $1[0] }
            #expect(pairs.count == 3 && pairs.first == [1, 7] && pairs.flatMap(\.self).contains(6), "\(pairs)")
            #expect(found.allSatisfy { $0.entityName == "Person" && $0.properties == ["name"] })
            #expect(Set(found.map { "\($0.values)" }).count == 2)
            #expect(refused.map(\.subject) == ["Person"] && refused.map(\.reason) == [.notUnique(["name"])])
            #expect(refused.map(\.rowCount) == [3] && refused.first?.objects.map(\.key).sorted() == [4, 6, 7])
            let store = try BTreeStore.openWithStoredModel(path: path)
            #expect(try store.model.descriptions == model().descriptions)
            #expect(try treeNames(store).contains("index:Person.byBirth") && store.check().isOK)
            #expect(try !treeNames(store).contains("unique:Person.name") && store.database.check().isOK)
            try store.close()
        }
    }

    @Test func `a constraint over two properties is broken by rows that share both`() throws {
        try withStorePath { path in
            try makeStore(at: path, (0..<21).map { "\($0 % 7)" })

            try BTreeStore.open(path: path, model: model { $0[0].uniquenessConstraints = [["name", "born"]] }).close()
            let single = conflicts {
                _ = try BTreeStore.open(
                    path: path, model: model { $0[0].uniquenessConstraints = [["born"]] }, migration: .off)
            }
            let refused = failures {
                _ = try BTreeStore.open(path: path, model: model { $0[0].uniquenessConstraints = [["born"]] })
            }

            #expect(single.count == 11 && refused.map(\.rowCount) == [11] && refused.first?.objects.count == 11)
        }
    }

    // MARK: Required values

    @Test func `an attribute that must have a value now is refused with the rows that have none`() throws {
        try withStorePath { path in
            try makeStore(at: path, ["a", "b", nil, "d", nil])
            let required = try model { $0[0].attributes[0].isOptional = false }

            for isReadOnly in [false, true] {
                let text =
                    reason {
                        _ = try BTreeStore.open(
                            path: path, model: required, isReadOnly: isReadOnly,
                            migration: isReadOnly ? .automatic : .off)
                    } ?? ""
                #expect(text.contains("entity Person: name must now have a value, but 2 rows have none"), "\(text)")
                #expect(text.contains("(first: Worker/3); "))
            }
            let refused = failures { _ = try BTreeStore.open(path: path, model: required) }
            #expect(refused.map(\.subject) == ["Person.name"] && refused.map(\.reason) == [.noValue])
            #expect(refused.first?.objects.map { "\($0.entityName)/\($0.key)" } == ["Worker/3", "Person/5"])
            let plan = try BTreeStore.migrationPlan(at: path, to: required, checkingRows: true)
            #expect(plan.refusal?.failures == refused)

            let store = try BTreeStore.open(path: path, model: model())
            var request = SaveRequest()
            for key in [3, 5] {
                let id = ObjectID(
                    entityName: key == 3 ? "Worker" : "Person", storeIdentifier: store.identifier, key: UInt64(key))
                request.updates.append(.init(id: id, expectedVersion: 1, values: [(0, .string("now"))]))
            }
            _ = try store.save(request)
            try store.close()
            try BTreeStore.open(path: path, model: required).close()
            let stored = try BTreeStore.openWithStoredModel(path: path)
            #expect(stored.model.entity(named: "Person")?.attribute(named: "name")?.isOptional == false)
            #expect(try stored.check().isOK && stored.check().unsetValues.isEmpty)
            try stored.close()
        }
    }

    @Test func `all properties that rows lack are named at once, relationships and subentities among them`() throws {
        try withStorePath { path in
            try makeStore(at: path, ["a", "b", "c"])
            let required = try model { entities in
                entities[0].relationships[0].isOptional = false
                entities[1].attributes[0].isOptional = false
                entities[2].attributes[0].isOptional = false
                entities[0].attributes[0].isOptional = false
            }

            let text = reason { _ = try BTreeStore.open(path: path, model: required, migration: .off) } ?? ""
            let refused = failures { _ = try BTreeStore.open(path: path, model: required) }

            #expect(text.contains("entity Person: boss must now have a value, but 3 rows have none"), "\(text)")
            #expect(text.contains("(first: Person/1); ") && !text.contains("room") && !text.contains("title"))
            #expect(!text.contains("name must"))
            #expect(refused.map(\.subject) == ["Person.boss"] && refused.first?.objects.map(\.key) == [1, 2, 3])
        }
    }

    @Test func `a to-many relationship that must lead somewhere now is refused where a row has no destination`() throws
    {
        try withStorePath { path in
            try makeStore(at: path, ["a", "b", "c"])
            let required = try model { $0[0].relationships[1].isOptional = false }
            func save(_ links: [(UInt64, UInt64)]) throws {
                let store = try BTreeStore.open(path: path, model: model())
                var request = SaveRequest()
                for (key, boss) in links {
                    let ids = [key, boss].map {
                        ObjectID(
                            entityName: $0 == 3 ? "Worker" : "Person", storeIdentifier: store.identifier, key: $0)
                    }
                    var update = SaveRequest.Update(id: ids[0], expectedVersion: 1)
                    update.destinations.append((0, ids[1]))
                    request.updates.append(update)
                }
                _ = try store.save(request)
                try store.close()
            }

            try save([(1, 2), (2, 1)])
            let text = reason { _ = try BTreeStore.open(path: path, model: required, migration: .off) } ?? ""
            let refused = failures { _ = try BTreeStore.open(path: path, model: required) }
            #expect(refused.map(\.subject) == ["Person.team"] && refused.first?.objects.map(\.key) == [3])
            #expect(
                text.contains("team must now have a value, but 1 row has none (first: Worker/3)"), "\(text)")

            try save([(3, 3)])
            let store = try BTreeStore.open(path: path, model: required)
            #expect(try store.check().isOK)
            try store.close()
        }
    }

    @Test func `what need not have a value any more opens, and takes rows without one`() throws {
        try withStorePath { path in
            try makeStore(at: path, ["a"])
            try BTreeStore.open(path: path, model: model { $0[0].attributes[0].isOptional = false }).close()

            let store = try BTreeStore.open(path: path, model: model())
            let id = ObjectID(entityName: "Person", storeIdentifier: store.identifier, key: 1)
            var request = SaveRequest()
            request.updates = [.init(id: id, expectedVersion: 1, values: [(0, .null)])]
            _ = try store.save(request)

            #expect(try store.check().unsetValues.isEmpty && store.check().isOK)
            try store.close()
        }
    }

    // MARK: Read-only stores

    @Test func `a store opened for reading does without new indexes and leaves old ones alone`() throws {
        try withStorePath { path in
            try makeStore(at: path, (0..<30).map { "name \($0)" })
            let other = try model { entities in
                entities[0].attributes[0].isIndexed = true
                entities[0].indexes = []
                entities[0].uniquenessConstraints = [["name"]]
                entities[0].attributes.reverse()
            }
            let before = try Data(contentsOf: URL(fileURLWithPath: path))

            let store = try BTreeStore.open(path: path, model: other, isReadOnly: true)

            #expect(try find(store, "Person", "name == 'name 7'") == [8])
            #expect(try find(store, "Person", "code == 'c7' AND born == 7") == [8])
            #expect(!(try plan(store, "Person", "name == 'name 7'").contains("index:Person.name")))
            #expect(try plan(store, "Person", "code == 'c7'").contains("index:Person.code"))
            #expect(try store.check().isOK)
            try store.close()
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
        }
    }

    @Test func `a model of other rows is refused, whatever its indexes are`() throws {
        try withStorePath { path in
            try makeStore(at: path, ["a"])
            let other = try model { entities in
                entities[0].attributes[0].isIndexed = true
                entities[0].attributes[1].type = .integer64
            }
            let text = reason { _ = try BTreeStore.open(path: path, model: other, migration: .off) }

            #expect(text?.hasPrefix("the model differs: entity Person: attribute born differs; ") == true)
        }
    }
}
