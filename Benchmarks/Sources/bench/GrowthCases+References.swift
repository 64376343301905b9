// The operations of `bench --growth` that are look-ups by reference, single values, merges, and methods of stores.

import BenchKit
import Espalier
import Foundation

extension GrowthCases {
    /// An operation with a reference to each paper, in a context that has all of them in memory if `isInMemory`.
    private static func references(
        _ name: String, isInMemory: Bool = false, work: GrowthCase.Work = .objects,
        _ body: @escaping @Sendable (ManagedObjectContext, Ref<Paper>) throws -> Void
    ) -> GrowthCase {
        GrowthCase(name + ", each", 1, work: work) { store in
            let context = store.context()
            let refs = try store.context().fetchRefs(FetchRequest<Paper>())
            let papers = isInMemory ? try all(context) : []
            return {
                for ref in refs { try body(context, ref) }
                withExtendedLifetime(papers) {}
            }
        }
    }

    static let references: [GrowthCase] = [
        GrowthCase("fetchRefs of all", 1) { store in
            { blackHole(try store.context().fetchRefs(FetchRequest<Paper>()).count) }
        },
        references("object(with: ref)") { blackHole(try $0.object(with: $1).isFault) },
        references("existingObject(with: ref)") { blackHole(try $0.existingObject(with: $1).isFault) },
        references("context[ref]", isInMemory: true) { blackHole(try $0[$1].number) },
        references("registeredObject(for: ref)", isInMemory: true, work: .tables) {
            blackHole($0.registeredObject(for: $1) != nil)
        },
        references("object(with:as:)") { blackHole(try $0.object(with: $1.id, as: Paper.self).isFault) },
        references("by a reference, SELF == ref") {
            let predicate = FetchPredicate.comparison(.init(.evaluatedObject, .equal, $1.predicateExpression))
            blackHole(try $0.fetch(FetchRequest<Paper>(predicate)).count)
        },
        GrowthCase("Ref: encode and decode all", 1) { store in
            let refs = try store.context().fetchRefs(FetchRequest<Paper>())
            return {
                let data = try JSONEncoder().encode(refs)
                blackHole(try JSONDecoder().decode([Ref<Paper>].self, from: data).count)
            }
        },
        GrowthCase(
            "fetch of all papers of a shelf, by its reference", 1, reason: "it returns every paper", work: .rows
        ) { store in
            {
                let context = store.context()
                let request = FetchRequest<Paper>(try FetchPredicate(format: "list == %@", shelf(context)))
                blackHole(try context.fetch(request).count)
            }
        },
    ]

    // MARK: Values

    /// A method of an object, called once for each object in memory; the objects have changes.
    static func value(_ name: String, _ body: @escaping @Sendable (Paper) throws -> Void) -> GrowthCase {
        GrowthCase(name + ", each", 1) { store in
            let context = store.context()
            let papers = try all(context)
            for paper in papers { paper.touched += 1 }
            return { for paper in papers { try body(paper) } }
        }
    }

    static let values: [GrowthCase] = [
        value("primitiveValue, setPrimitiveValue") { paper in
            let value = try found(try paper.primitiveValue(forKey: "number"))
            paper.willChangeValue(forKey: "number")
            try paper.setPrimitiveValue(value, forKey: "number")
            paper.didChangeValue(forKey: "number")
        },
        value("willAccessValue, faultingState") { paper in
            paper.willAccessValue(forKey: nil)
            paper.didAccessValue(forKey: nil)
            blackHole(paper.faultingState == .fault)
        },
        value("committedValues(forKeys:), changedValues(forKeys:)") { paper in
            blackHole(try paper.committedValues(forKeys: ["number"]).count)
            blackHole(try paper.changedValues(forKeys: ["touched"]).count)
        },
        value("validateValue") { paper in
            var value = PropertyValue.attribute(.integer(1))
            try paper.validateValue(&value, forKey: "number")
        },
        value("debugDescription") { blackHole($0.debugDescription.utf8.count) },
        GrowthCase(
            "changedValuesForCurrentEvent, each", 1, reason: "each is looked up in the table of the event",
            work: .tables
        ) { store in
            let context = store.context()
            context.recordsChangesOfEvent = true
            let papers = try all(context)
            for paper in papers { paper.touched += 1 }
            return { for paper in papers { blackHole(try paper.changedValuesForCurrentEvent().count) } }
        },
        GrowthCase("debugDescription of a context with all, changed", 0) { store in
            let context = store.context()
            let papers = try all(context)
            for paper in papers { paper.touched += 1 }
            return {
                blackHole(context.debugDescription.utf8.count)
                withExtendedLifetime(papers) {}
            }
        },
        GrowthCase("description of ToMany and OrderedToMany", 1) { store in
            let context = store.context()
            let papers = try all(context)
            let shelf = try shelf(context)
            return {
                blackHole(shelf.listed.description.utf8.count + shelf.papers.description.utf8.count)
                withExtendedLifetime(papers) {}
            }
        },
        GrowthCase("assertTrips around a read of all", 1) { store in
            let context = store.context()
            let papers = try all(context)
            return {
                try context.assertTrips(atMost: papers.count) { for paper in papers { blackHole(paper.shelf?.code) } }
            }
        },
        GrowthCase("retainsRegisteredObjects on and off", 1, reason: "a set of all objects is made", work: .tables) {
            store in
            let context = store.context()
            let papers = try all(context)
            return {
                context.retainsRegisteredObjects = true
                context.retainsRegisteredObjects = false
                withExtendedLifetime(papers) {}
            }
        },
    ]

    // MARK: Merges

    /// A save of all papers, which another context has changed, under a merge policy.
    static func conflict(_ name: String, _ policy: MergePolicy, isRefused: Bool = false) -> GrowthCase {
        GrowthCase("save of all, in conflict: " + name, 1, work: .tables) { store in
            let (context, other) = (store.context(), store.context())
            context.mergePolicy = policy
            for paper in try all(context) { paper.touched += 1 }
            let papers = try all(context)
            for paper in papers { paper.touched += 1 }
            for paper in try all(other) { paper.touched += 2 }
            try other.save()
            return {
                do throws(ContextError) {
                    try context.save()
                } catch {
                    guard isRefused else { throw error }
                }
                withExtendedLifetime(papers) {}
            }
        }
    }

    static let merges: [GrowthCase] = [
        conflict("error", .error, isRefused: true), conflict("objectTrump", .objectTrump),
        conflict("storeTrump", .storeTrump), conflict("overwrite", .overwrite), conflict("rollback", .rollback),
        GrowthCase("save of all deletions, which another context has saved before", 1, work: .tables) { store in
            let context = store.context()
            let topics = (0..<store.count).map { _ in Topic(context: context) }
            try context.save()
            for topic in topics { try context.delete(topic) }
            try store.context().execute(BatchDeleteRequest(objectIDs: topics.map(\.objectID)))
            return {
                try context.save()
                withExtendedLifetime(topics) {}
            }
        },
        GrowthCase("save of all, each with a broken rule", 1) { store in
            let context = store.context()
            let papers = try all(context)
            for paper in papers { paper.key = "the same" }
            return {
                do throws(ContextError) { try context.save() } catch {}
                withExtendedLifetime(papers) {}
            }
        },
        GrowthCase("mergeRemoteChanges of all, by URI, into two contexts", 1) { store in
            let contexts = [store.context(), store.context()]
            let papers = try contexts.map { try all($0) }
            let uris = papers[0].map(\.objectID.uriRepresentation)
            return {
                let changes = try SavedChanges(updatedURIs: uris, in: store.coordinator)
                ManagedObjectContext.mergeRemoteChanges(changes, into: contexts)
                withExtendedLifetime(papers) {}
            }
        },
        GrowthCase("assign of all to a store", 1, reason: "the store of each is noted in a table", work: .tables) {
            store in
            let context = store.context()
            let papers = (0..<store.count).map { _ in Paper(context: context) }
            return { try context.assign(papers, to: store.coordinator.persistentStores[0]) }
        },
        GrowthCase("save of all, with a log of requests", 1) { store in
            let context = store.context()
            context.requestLog = RequestLog(.requests) { blackHole($0.description.utf8.count) }
            let papers = try all(context)
            for paper in papers { paper.touched += 1 }
            return { try context.save() }
        },
    ]

    // MARK: Stores

    /// The model with one more attribute of papers.
    static func newerModel() throws -> ManagedObjectModel {
        var paper = Paper.entityDescription
        paper.attributes.append(AttributeDescription("added", .string))
        let inverses = ["shelf": "papers", "list": "listed", "home": "holdings", "topics": "papers"]
        for index in paper.relationships.indices {
            paper.relationships[index].inverse = inverses[paper.relationships[index].name]
        }
        return try ManagedObjectModel(entities: [Shelf.entityDescription, Topic.entityDescription, paper])
    }

    static func newCoordinator() throws -> PersistentStoreCoordinator {
        PersistentStoreCoordinator(managedObjectModel: try newerModel())
    }

    /// A new copy of a closed store of all papers.
    static func copy(of store: PaperStore) throws -> String {
        let path = store.folder.path + "/migrated.espalier"
        for suffix in ["", "-wal"] { try? FileManager.default.removeItem(atPath: path + suffix) }
        try FileManager.default.copyItem(atPath: try container(of: store), toPath: path)
        return path
    }

    static let stores: [GrowthCase] = [
        GrowthCase("coordinator: a second store, added and removed", 0) { store in
            let path = store.folder.path + "/second.espalier"
            return {
                let second = try store.coordinator.addPersistentStore(
                    PersistentStoreDescription(path: path, entityNames: []))
                try store.coordinator.remove(second)
            }
        },
        GrowthCase("coordinator: migrationPlan", 0, work: .file) { store in
            let (coordinator, path) = (try newCoordinator(), try copy(of: store))
            return { blackHole(try coordinator.migrationPlan(for: PersistentStoreDescription(path: path)).steps.count) }
        },
        GrowthCase("coordinator: migrationPlan, rows checked, of which no change concerns any", 0, work: .file) {
            store in
            let (coordinator, path) = (try newCoordinator(), try copy(of: store))
            return {
                let description = PersistentStoreDescription(path: path)
                blackHole(try coordinator.migrationPlan(for: description, checkingRows: true).steps.count)
            }
        },
        GrowthCase("coordinator: migration, an attribute more", 1) { store in
            let (coordinator, path) = (try newCoordinator(), try copy(of: store))
            return {
                let migrated = try coordinator.addPersistentStore(PersistentStoreDescription(path: path))
                try coordinator.remove(migrated)
            }
        },
    ]
}
