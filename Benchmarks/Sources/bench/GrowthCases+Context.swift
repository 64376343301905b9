// The operations of `bench --growth` that are methods of contexts, of objects and of containers.

import BenchKit
import Espalier
import Foundation

extension GrowthCases {
    /// The IDs of all papers.
    static func ids(_ store: PaperStore) throws -> [ObjectID] {
        try store.context().fetchIDs(FetchRequest<Paper>())
    }

    // MARK: Contexts

    private static let mergeReason = "the objects are looked up in a table, and in one of those that were changed"

    static let contexts: [GrowthCase] = [
        GrowthCase("fetchIDs of all", 1, work: .rows) { store in
            { blackHole(try store.context().fetchIDs(FetchRequest<Paper>()).count) }
        },
        GrowthCase("explain", 0) { store in
            {
                let request = FetchRequest<Paper>(try FetchPredicate(format: "code > 'c0' AND kind == 3"))
                blackHole(try store.context().explain(request).count)
            }
        },
        GrowthCase("object(with:), each", 1) { store in
            let (ids, context) = (try ids(store), store.context())
            return { for id in ids { blackHole(try context.object(with: id).isFault) } }
        },
        GrowthCase("existingObject(with:), each", 1) { store in
            let (ids, context) = (try ids(store), store.context())
            return { for id in ids { blackHole(try context.existingObject(with: id).isFault) } }
        },
        GrowthCase("registeredObject(for:), each", 1, work: .tables) { store in
            let (ids, context) = (try ids(store), store.context())
            let papers = try all(context)
            return {
                for id in ids { blackHole(context.registeredObject(for: id) != nil) }
                withExtendedLifetime(papers) {}
            }
        },
        GrowthCase(
            "registeredObjects", 1, reason: "returns a set of all objects, as the first control does", work: .tables
        ) { store in
            let context = store.context()
            let papers = try all(context)
            return {
                blackHole(context.registeredObjects.count)
                withExtendedLifetime(papers) {}
            }
        },
        GrowthCase(
            "insertedObjects, updatedObjects, deletedObjects", 1, reason: "returns sets of all objects", work: .tables
        ) { store in
            let context = store.context()
            let papers = try all(context)
            for (number, paper) in papers.enumerated() {
                if number.isMultiple(of: 2) { paper.touched += 1 } else { try context.delete(paper) }
            }
            let new = papers.map { _ in Paper(context: context) }
            return {
                blackHole(context.insertedObjects.count + context.updatedObjects.count + context.deletedObjects.count)
                withExtendedLifetime(new) {}
            }
        },
        GrowthCase("hasChanges among all, changed", 0) { store in
            let context = store.context()
            let papers = try all(context)
            for paper in papers { paper.touched += 1 }
            return {
                blackHole(context.hasChanges)
                withExtendedLifetime(papers) {}
            }
        },
        GrowthCase("insertNewObject, each", 1) { store in
            let context = store.context()
            return {
                for _ in 0..<store.count { blackHole(try context.insertNewObject(forEntityName: "Paper").isInserted) }
            }
        },
        GrowthCase(
            "insert of objects made before, each", 1, reason: "the table of objects by ID grows", work: .tables
        ) { store in
            let context = store.context()
            let entity = try found(store.coordinator.managedObjectModel.entity(named: "Paper"))
            let papers = (0..<store.count).map { _ in Paper(entity: entity, insertInto: nil) }
            return { for paper in papers { try context.insert(paper) } }
        },
        GrowthCase(
            "detectConflicts, each of all, changed", 1, reason: "each is noted in a table of locked objects",
            work: .tables
        ) { store in
            let context = store.context()
            let papers = try all(context)
            for paper in papers { paper.touched += 1 }
            return { for paper in papers { try context.detectConflicts(for: paper) } }
        },
        GrowthCase("processPendingChanges of one among all, changed", 0) { store in
            let context = store.context()
            let papers = try all(context)
            for paper in papers { paper.touched += 1 }
            context.processPendingChanges()
            return {
                papers[0].touched += 1
                context.processPendingChanges()
            }
        },
        GrowthCase("refresh(false) of one among all, and a read", 0) { store in
            let context = store.context()
            let papers = try all(context)
            for paper in papers { blackHole(paper.number) }
            // The first trip of objects that were fetched together notes the position of each.
            context.refresh(papers[0], mergesChanges: false)
            blackHole(papers[0].number)
            return {
                context.refresh(papers[0], mergesChanges: false)
                blackHole(papers[0].number)
            }
        },
        GrowthCase("reset with all in memory", 0, once: true) { store in
            let context = store.context()
            let papers = try all(context)
            for paper in papers { blackHole(paper.number) }
            return {
                context.reset()
                withExtendedLifetime(papers) {}
            }
        },
        GrowthCase("rollback of one change among all", 0) { store in
            let context = store.context()
            let papers = try all(context)
            return {
                papers[0].touched += 1
                context.rollback()
            }
        },
        GrowthCase("mergeChanges of all", 1, reason: mergeReason, work: .tables) { store in
            let context = store.context()
            let papers = try all(context)
            for paper in papers { blackHole(paper.number) }
            let saved = SavedChanges(updated: papers.map(\.objectID))
            return { context.mergeChanges(from: saved) }
        },
        GrowthCase("mergeChanges of all updated, into all changed", 1, reason: mergeReason, work: .tables) { store in
            let (context, other) = (store.context(), store.context())
            let papers = try all(context)
            for paper in papers { paper.touched += 1 }
            for paper in try all(other) { paper.touched += 2 }
            try other.save()
            let saved = SavedChanges(updated: papers.map(\.objectID))
            return {
                context.mergeChanges(from: saved)
                for paper in papers { blackHole(paper.number) }
            }
        },
        GrowthCase(
            "mergeChanges of all deleted, into all that are deleted here", 1, reason: mergeReason, work: .tables
        ) { store in
            let context = store.context()
            let topics = (0..<store.count).map { _ in Topic(context: context) }
            try context.save()
            for topic in topics { try context.delete(topic) }
            context.processPendingChanges()
            // The merge asks the store whether the rows are gone.
            let ids = topics.map(\.objectID)
            try store.context().execute(BatchDeleteRequest(objectIDs: ids))
            let saved = SavedChanges(deleted: ids)
            return {
                context.mergeChanges(from: saved)
                withExtendedLifetime(topics) {}
            }
        },
        GrowthCase("mergeChanges of one among all, and a read", 0) { store in
            let context = store.context()
            let papers = try all(context)
            for paper in papers { blackHole(paper.number) }
            let saved = SavedChanges(updated: [papers[0].objectID])
            // The first trip of objects that were fetched together notes the position of each.
            context.mergeChanges(from: saved)
            blackHole(papers[0].number)
            return {
                context.mergeChanges(from: saved)
                blackHole(papers[0].number)
            }
        },
        GrowthCase("setQueryGeneration with all in memory", 0) { store in
            let context = store.context()
            let papers = try all(context)
            return {
                try context.setQueryGeneration(from: .current)
                withExtendedLifetime(papers) {}
            }
        },
        GrowthCase("change of each, with an observer", 1, work: .tables) { store in
            let context = store.context()
            let papers = try all(context)
            let token = context.addObserver(for: ManagedObjectContext.ObjectsDidChangeMessage.self) { message in
                blackHole(message.updated.count)
            }
            return {
                for paper in papers { paper.touched += 1 }
                context.processPendingChanges()
                withExtendedLifetime(token) {}
            }
        },
        GrowthCase("insert all, save, delete them, save", 1) { store in
            let context = store.context()
            return {
                let topics = (0..<store.count).map { _ in Topic(context: context) }
                try context.save()
                for topic in topics { try context.delete(topic) }
                try context.save()
            }
        },
        GrowthCase("insert and delete of one among all, two saves", 0, work: .file) { store in
            let context = store.context()
            let papers = try all(context)
            return {
                let topic = Topic(context: context)
                try context.save()
                try context.delete(topic)
                try context.save()
                withExtendedLifetime(papers) {}
            }
        },
    ]

    // MARK: Objects

    /// One method of an object, called once for each object in memory; the objects have changes.
    private static func each(_ name: String, _ body: @escaping @Sendable (Paper) throws -> Void) -> GrowthCase {
        GrowthCase(name + ", each", 1) { store in
            let context = store.context()
            let papers = try all(context)
            for paper in papers { paper.touched += 1 }
            return { for paper in papers { try body(paper) } }
        }
    }

    static let objects: [GrowthCase] = [
        each("value(forKey:)") { blackHole(try $0.value(forKey: "number")) },
        each("setValue(_:forKey:)") { try $0.setValue(.integer(7), forKey: "touched") },
        each("subscript(attribute:)") { blackHole($0[attribute: "word"]) },
        each("objectIDs(forRelationshipNamed:)") {
            blackHole(try $0.objectIDs(forRelationshipNamed: "topics").count)
        },
        each("add and remove by a relationship's name") { paper in
            let shelf = try found(paper.shelf)
            try shelf.remove([paper], fromRelationshipNamed: "papers")
            try shelf.add([paper], toRelationshipNamed: "papers")
        },
        each("hasFault(forRelationshipNamed:)") { blackHole($0.hasFault(forRelationshipNamed: "topics")) },
        each("committedValues") { blackHole($0.committedValues().count) },
        each("changedValues") { blackHole($0.changedValues().count) },
        each("hasPersistentChangedValues") { blackHole($0.hasPersistentChangedValues) },
        each("hasChanges, isInserted, isUpdated, isDeleted, isFault") {
            blackHole($0.hasChanges || $0.isInserted || $0.isUpdated || $0.isDeleted || $0.isFault)
        },
        each("description") { blackHole($0.description.utf8.count) },
        each("to-one set to nil and back") { paper in
            let shelf = paper.shelf
            paper.shelf = nil
            paper.shelf = shelf
        },
    ]

    // MARK: Containers

    static let classes: [ManagedObject.Type] = [Shelf.self, Topic.self, Paper.self]

    /// The path of a closed store of papers without owners; made at the first call.
    static func container(of store: PaperStore) throws -> String {
        let path = store.folder.path + "/container.espalier"
        guard !FileManager.default.fileExists(atPath: path) else { return path }
        let container = try PersistentContainer(for: classes, at: path)
        let context = ManagedObjectContext(container.persistentStoreCoordinator)
        for number in 0..<store.count { PaperStore.fill(Paper(context: context), number, of: store.count) }
        try context.save()
        try container.close()
        return path
    }

    static let containers: [GrowthCase] = [
        GrowthCase("container: open, fetch one and close", 0) { store in
            let path = try container(of: store)
            return {
                let container = try PersistentContainer(for: classes, at: path)
                let context = ManagedObjectContext(container.persistentStoreCoordinator)
                let request = FetchRequest<Paper>(try FetchPredicate(format: "code == %@", PaperStore.code("c", 7)))
                blackHole(try context.fetch(request).count)
                try container.close()
            }
        },
        GrowthCase("background context: a block that fetches all", 1) { store in
            let background = BackgroundContext(store.coordinator)
            return { try background.performAndWait { blackHole(try $0.fetch(FetchRequest<Paper>()).count) } }
        },
        GrowthCase("background context: blocks that do nothing, each", 1) { store in
            let background = BackgroundContext(store.coordinator)
            return { for _ in 0..<store.count { background.performAndWait { blackHole($0.hasChanges) } } }
        },
        GrowthCase("background context: blocks that are enqueued, each", 1) { store in
            let background = BackgroundContext(store.coordinator)
            return {
                for _ in 0..<store.count { background.enqueue { blackHole($0.hasChanges) } }
                background.performAndWait { blackHole($0.hasChanges) }
            }
        },
        GrowthCase("coordinator: managedObjectID(forURIRepresentation:), each", 1) { store in
            let uris = try ids(store).map(\.uriRepresentation)
            return { for uri in uris { blackHole(try store.coordinator.managedObjectID(forURIRepresentation: uri)) } }
        },
        GrowthCase("coordinator: persistentStore(for:), each", 1) { store in
            let ids = try ids(store)
            return { for id in ids { blackHole(store.coordinator.persistentStore(for: id) != nil) } }
        },
    ]
}
