// The options of a context, each in a context on stores and, where it can differ there, in a child.

import Espalier
import EspalierModel
import EspalierStore
import Foundation
import Testing

@Suite struct ContextOptionTests {
    /// A context of a stack: that of its stores, or a child of it.
    private func context(of stack: Stack, isChild: Bool) -> ManagedObjectContext {
        isChild ? ManagedObjectContext(parent: stack.context) : stack.context
    }

    @Test func `a context keeps the application's values, each context its own (MC-07)`() throws {
        let stack = try Stack(.inMemory)
        stack.context.userInfo["window"] = 7
        let child = ManagedObjectContext(parent: stack.context)

        #expect(child.userInfo.isEmpty && stack.newContext().userInfo.isEmpty)
        stack.context.reset()
        #expect(stack.context.userInfo["window"] as? Int == 7)
    }

    // MARK: Stores of new objects

    private func twoStores() throws -> (ManagedObjectContext, [any PersistentStore], URL) {
        let coordinator = PersistentStoreCoordinator(managedObjectModel: try ManagedObjectModel(for: sensorClasses))
        let folder = FileManager.default.temporaryDirectory.appending(path: "espalier-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let stores = [
            try coordinator.addPersistentStore(.inMemory),
            try coordinator.addPersistentStore(PersistentStoreDescription(path: folder.appending(path: "b").path)),
        ]
        return (ManagedObjectContext(coordinator), stores, folder)
    }

    @Test(arguments: [0, 1, 2], [0, 1])
    func `a new object is saved in the store that was chosen, also from a child (MC-09)`(
        depth: Int, chosen: Int
    ) throws {
        let (root, stores, folder) = try twoStores()
        defer { try? FileManager.default.removeItem(at: folder) }
        var contexts = [root]
        for _ in 0..<depth { contexts.append(ManagedObjectContext(parent: contexts[contexts.count - 1])) }
        let context = contexts[depth]
        let sensors = (0..<3).map { _ in Sensor(context: context) }
        let tag = Tag(context: context)
        tag.sensors = [sensors[0]]

        try context.assign([sensors[0], sensors[1], sensors[0], tag], to: stores[chosen])

        #expect(sensors[0].isInserted && !sensors[0].objectID.isTemporary && sensors[2].objectID.isTemporary)
        #expect(tag.sensors == [sensors[0]] && sensors[0].tags == [tag])
        try context.assign(sensors[0], to: stores[chosen])
        for context in contexts.reversed() { try context.save() }
        let places = try ([sensors[0], sensors[1], tag] as [ManagedObject]).map {
            try #require(root.persistentStoreCoordinator.persistentStore(for: $0.objectID))
        }
        #expect(places.allSatisfy { $0 === stores[chosen] })
        #expect(root.persistentStoreCoordinator.persistentStore(for: sensors[2].objectID) === stores[0])
        let reader = ManagedObjectContext(root.persistentStoreCoordinator)
        #expect(try reader.fetch(Tag.fetchRequest()).first?.sensors.first?.objectID == sensors[0].objectID)
        #expect(try reader.count(for: Sensor.fetchRequest()) == 3)
        for store in stores { try store.close() }
    }

    @Test func `a store that cannot be chosen is refused, and no object is changed (MC-09)`() throws {
        let (context, stores, folder) = try twoStores()
        defer { try? FileManager.default.removeItem(at: folder) }
        let coordinator = context.persistentStoreCoordinator
        let tags = try coordinator.addPersistentStore(.inMemory(entityNames: ["Tag"]))
        let stranger = InMemoryStore(model: coordinator.managedObjectModel)
        let (new, saved, stored) = (Sensor(context: context), Sensor(context: context), Sensor(context: context))
        try context.assign(stored, to: stores[1])
        try context.obtainPermanentIDs(for: [saved])
        func refusal(_ objects: [ManagedObject], _ store: any PersistentStore) -> String {
            contextError { try context.assign([new] + objects, to: store) }.map { "\($0)" } ?? "none"
        }

        #expect(refusal([], stranger).contains("no open store"))
        #expect(refusal([], tags).contains("entityNames"))
        #expect(refusal([stored], stores[0]).contains("permanent ID"))
        #expect(refusal([saved], stores[1]).contains("permanent ID"))
        #expect(refusal([Sensor(context: ManagedObjectContext(coordinator))], stores[1]).contains("another context"))
        try context.save()
        #expect(coordinator.persistentStore(for: new.objectID) === stores[0])
        let error = contextError { try context.assign(new, to: stores[0]) }
        guard case .storeIsChosen(new.objectID)? = error else { return #expect(Bool(false), "\(error as Any)") }
        try context.assign([], to: stranger)
        for store in stores { try store.close() }
    }

    @Test func `a store that is open for reading only cannot be chosen (MC-09)`() throws {
        let (first, stores, folder) = try twoStores()
        defer { try? FileManager.default.removeItem(at: folder) }
        _ = Sensor(context: first)
        try first.save()
        for store in stores { try first.persistentStoreCoordinator.remove(store) }
        let coordinator = PersistentStoreCoordinator(managedObjectModel: first.model)
        let store = try coordinator.addPersistentStore(
            PersistentStoreDescription(path: folder.appending(path: "b").path, isReadOnly: true))
        try coordinator.addPersistentStore(.inMemory)
        let context = ManagedObjectContext(coordinator)

        #expect(contextError { try context.assign(Sensor(context: context), to: store) }?.code == 513)
        try context.save()
        try store.close()
    }

    // MARK: Delete rules

    @Test(arguments: [false, true])
    func `delete rules run at the end of an event, or only in the save (MC-12)`(isChild: Bool) throws {
        for propagates in [true, false] {
            let stack = try Stack(.btree, classes: sensorClasses)
            let writer = stack.newContext()
            let site = Site(context: writer)
            site.sensors = (0..<3).map { _ in Sensor(context: writer) }
            try writer.save()
            let context = context(of: stack, isChild: isChild)
            context.propagatesDeletesAtEndOfEvent = propagates
            let found = try context[site.ref]
            let sensors = found.sensors

            try context.delete(found)
            context.processPendingChanges()
            #expect(sensors.allSatisfy { $0.isDeleted == propagates })
            #expect(try context.fetch(Sensor.fetchRequest()).count == (propagates ? 0 : 3))
            #expect(try context.fetch(Site.fetchRequest()).isEmpty)
            try context.save()
            if isChild { try stack.context.save() }

            #expect(try stack.stored(Sensor.self).isEmpty && stack.stored(Site.self).isEmpty)
            #expect(sensors.allSatisfy { $0.managedObjectContext == nil })
        }
    }

    @Test func `a rollback before the save takes back a deletion whose rules have not run (MC-12)`() throws {
        let stack = try Stack(.inMemory, classes: sensorClasses)
        let site = Site(context: stack.context)
        site.sensors = [Sensor(context: stack.context)]
        try stack.context.save()
        stack.context.propagatesDeletesAtEndOfEvent = false
        try stack.context.delete(site)
        stack.context.processPendingChanges()

        stack.context.rollback()
        try stack.context.saveAndCompare()

        #expect(!site.isDeleted && site.sensors.count == 1 && !stack.context.hasChanges)
    }

    // MARK: Lifetime

    @Test(arguments: [false, true])
    func `a context retains all its objects if it is asked to (MC-33)`(isChild: Bool) throws {
        let stack = try Stack(.inMemory)
        try stack.makeMusic(artists: 3, tracks: 1)
        let context = context(of: stack, isChild: isChild)
        let before = try context.fetch(Artist.fetchRequest())
        #expect(context.registeredObjects.count == 3 && !context.retainsRegisteredObjects)
        context.retainsRegisteredObjects = true

        _ = try context.fetch(Album.fetchRequest())
        #expect(context.registeredObjects.count == 3 + 6)
        withExtendedLifetime(before) {}
        let new = Artist(context: context)
        new.name = "New"
        try context.save()
        try context.delete(new)
        try context.save()
        #expect(context.registeredObjects.count == 3 + 6)

        context.retainsRegisteredObjects = false
        #expect(context.registeredObjects.count == 3)
        context.retainsRegisteredObjects = true
        context.reset()
        #expect(context.registeredObjects.isEmpty && context.retainsRegisteredObjects)
        _ = try context.fetch(Artist.fetchRequest())
        #expect(context.registeredObjects.count >= 3)
    }

    @Test func `a context that retains its objects frees them when it ends (MC-33)`() throws {
        let stack = try Stack(.inMemory)
        try stack.makeMusic(artists: 1, tracks: 1)
        weak var artist: Artist?
        do {
            let context = stack.newContext()
            context.retainsRegisteredObjects = true
            artist = try context.fetch(Artist.fetchRequest()).first
            #expect(artist != nil)
        }
        #expect(artist == nil)
    }

    // MARK: Age of rows

    @Test(arguments: StoreKind.allCases)
    func `a fault reads rows that are too old again, and objects in use keep theirs (MC-34)`(_ kind: StoreKind) throws {
        for (age, merges) in [(-1.0, false), (0, false), (3600, false), (0, true)] {
            let (stack, _) = try Stack.ofSensor(kind)
            let context = stack.newContext()
            context.automaticallyMergesChangesFromParent = merges
            let second = Sensor(context: stack.context)
            try stack.context.save()
            context.stalenessInterval = age
            let found = try context.fetch(Sensor.fetchRequest(sortedBy: [SortKey("name")]))
            let (used, fault) = (found[0], found[1])
            #expect(used.name == "baseline" && fault.isFault)
            try stack.rename(second, "used")
            try stack.rename(try stack.context[fault.ref], "newer")

            #expect(fault.name == (age == 0 ? "newer" : "first"), "\(age)")
            #expect(merges || used.name == "baseline")
        }
    }

    @Test func `a pinned context and one that was not asked to do not read rows again (MC-34)`() throws {
        let (stack, sensor) = try Stack.ofSensor(.btree)
        let context = stack.newContext()
        context.stalenessInterval = 0
        try context.setQueryGeneration(from: .current)
        let found = try context.fetch(Sensor.fetchRequest())
        try stack.rename(sensor, "newer")

        #expect(found.map(\.name) == ["first"])
        try context.setQueryGeneration(from: nil)
        context.refreshAllObjects()
        #expect(found.map(\.name) == ["newer"])
    }

    @Test func `a child's fault reads what its parent has now, if the rows are too old (MC-34)`() throws {
        let (stack, sensor) = try Stack.ofSensor(.inMemory)
        let child = ManagedObjectContext(parent: stack.context)
        child.automaticallyMergesChangesFromParent = false
        child.stalenessInterval = 0
        let found = try child.fetch(Sensor.fetchRequest())
        sensor.name = "parent's"

        #expect(found.map(\.name) == ["parent's"])
    }

    // MARK: Deleted rows

    @Test(arguments: StoreKind.allCases, [false, true])
    func `a fault without a row reads as empty, or is an error, as the context says (MC-50, MO-17)`(
        _ kind: StoreKind, isChild: Bool
    ) throws {
        for deletes in [true, false] {
            let (stack, sensor) = try Stack.ofSensor(kind)
            let reader = stack.newContext()
            let context = isChild ? ManagedObjectContext(parent: reader) : reader
            context.shouldDeleteInaccessibleFaults = deletes
            let id = sensor.objectID
            try stack.context.delete(sensor)
            try stack.context.save()
            let fault = try context.object(with: id, as: Sensor.self)

            if deletes {
                #expect(try fault.value(forKey: "name") == .attribute(.null) && fault.name == "")
                #expect(fault.isDeleted && !context.deletedObjects.contains(fault) && !context.hasChanges)
                try context.save()
            } else {
                #expect(contextError { _ = try fault.value(forKey: "name") }?.code == 133000)
                #expect(fault.name == "" && fault.tags.isEmpty && fault.isDeleted)
                let reported = violations { try context.save() }
                #expect(reported.map(\.object) == [id] && reported.map(\.code) == [133000])
                try context.save()
            }
            #expect(contextError { _ = try context.existingObject(with: id) }?.code == 133000)
            #expect(context.recordedViolations.isEmpty)
        }
    }

    // MARK: Other processes

    @Test(arguments: StoreKind.allCases)
    func `a save of another process is merged into several contexts, from URIs (MC-49)`(_ kind: StoreKind) throws {
        let (stack, sensor) = try Stack.ofSensor(kind)
        let (first, second) = (stack.newContext(), stack.newContext())
        let child = ManagedObjectContext(parent: first)
        child.automaticallyMergesChangesFromParent = false
        let gone = Sensor(context: stack.context)
        try stack.context.save()
        let contexts = [child, second, first, child]
        let seen = try contexts.map { try $0[sensor.ref] }
        let ends = try contexts.map { try $0[gone.ref] }
        #expect(seen.allSatisfy { $0.name == "first" } && ends.allSatisfy { !$0.isDeleted })
        seen[0].level = 3
        let goneURI = gone.objectID.uriRepresentation
        try stack.rename(sensor, "theirs")
        try stack.context.delete(gone)
        try stack.context.save()
        let changes = try SavedChanges(
            updatedURIs: [sensor.objectID.uriRepresentation], deletedURIs: [goneURI], in: stack.coordinator)

        ManagedObjectContext.mergeRemoteChanges(changes, into: contexts)

        #expect(seen.map(\.name) == ["theirs", "theirs", "theirs", "theirs"] && ends.allSatisfy(\.isDeleted))
        #expect(seen[0].level == 3 && seen[0].hasChanges)
        try child.save()
        try first.save()
        #expect(try stack.stored(Sensor.self).map(\.name) == ["theirs"])
    }

    @Test func `a text that is no URI of an object is refused before anything is merged (MC-49)`() throws {
        let (stack, sensor) = try Stack.ofSensor(.inMemory)

        let error = contextError {
            _ = try SavedChanges(
                insertedURIs: [sensor.objectID.uriRepresentation, "nonsense"], in: stack.coordinator)
        }

        guard case .invalidURI("nonsense")? = error else { return #expect(Bool(false), "\(error as Any)") }
    }
}
