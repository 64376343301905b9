// Descriptions for debuggers: they show what is in memory, and load nothing.

import Espalier
import EspalierModel
import Testing

@Suite struct DebugDescriptionTests {
    @Test(arguments: StoreKind.allCases)
    func `an object shows its state, its values and what has changed, and loads nothing`(_ kind: StoreKind) throws {
        let (stack, original) = try Stack.ofSensor(kind)
        let context = stack.newContext()
        let sensor = try context.object(with: original.ref)
        #expect(sensor.debugDescription == "Sensor \(sensor.objectID) (fault)" && context.rowsFetched == 0)

        #expect(sensor.level == 0)
        #expect(
            sensor.debugDescription == """
                Sensor \(sensor.objectID) (unchanged) {
                  name: "first"
                  level: 0
                  shown: nil
                  site: nil
                  tags: fault
                }
                """)
        let trips = context.faultTrips
        (sensor.name, sensor.shown) = ("other", "x")
        let site = Site(context: context)
        sensor.site = site
        sensor.tags.insert(Tag(context: context))
        let text = sensor.debugDescription
        #expect(text.contains("(updated)") && text.contains("name: \"other\" (was \"first\")"))
        #expect(text.contains("shown: \"x\"") && text.contains("site: \(site.objectID) (was nil)"))
        #expect(text.contains("tags: 3 objects (1 added, 0 removed)"))
        #expect(site.debugDescription.contains("(inserted)"))
        #expect(site.debugDescription.contains("sensors: 1 objects (1 added, 0 removed)"))
        #expect(context.faultTrips == trips + 1)
        try context.delete(sensor)
        #expect(sensor.debugDescription.contains("(deleted)"))
        context.reset()
        #expect(sensor.debugDescription.contains("in no context"))
    }

    @Test func `a context shows its objects, its changes and its options`() throws {
        let (stack, sensor) = try Stack.ofSensor(.inMemory)
        stack.context.name = "main"
        sensor.name = "x"
        let new = Sensor(context: stack.context)
        #expect(
            stack.context.debugDescription.hasPrefix(
                "context \"main\": 2 objects, 1 inserted, 1 updated, 0 deleted, "))

        let child = ManagedObjectContext(parent: stack.context)
        #expect(child.debugDescription.hasPrefix("child of context \"main\": 0 objects"))
        let other = stack.newContext()
        other.undoManager = UndoStack()
        try other.setQueryGeneration(from: .current)
        #expect(other.debugDescription.contains("pinned") && other.debugDescription.contains("undo manager"))
        withExtendedLifetime(new) {}
    }

    @Test func `an undo manager shows its level, its numbers and names, and what it does not do`() throws {
        let undoManager = UndoStack()
        #expect(undoManager.debugDescription == "undo manager: 0 to undo, 0 to redo")
        undoManager.groupsByEvent = false
        for name in ["First", "Second"] {
            undoManager.registerUndo(withTarget: undoManager) { stack in
                stack.registerUndo(withTarget: stack) { _ in }
            }
            undoManager.setActionName(name)
        }
        try undoManager.undo()
        #expect(
            undoManager.debugDescription == "undo manager: 1 to undo, next \"First\", 1 to redo, next \"Second\", "
                + "without groups by event")
        undoManager.beginUndoGrouping()
        undoManager.levelsOfUndo = 5
        undoManager.disableUndoRegistration()
        #expect(
            undoManager.debugDescription == "undo manager: 1 to undo, 1 to redo, next \"Second\", level 1, at most 5, "
                + "without groups by event, registration disabled")
    }

    @Test func `a coordinator and a container show their stores with kinds and files`() throws {
        let model = try ManagedObjectModel(for: musicClasses)
        let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        #expect(coordinator.debugDescription == "coordinator of 6 entities, without stores")
        let container = try PersistentContainer(model: model, stores: [.inMemory])
        #expect(
            container.debugDescription
                == "container made with 1 stores, coordinator of 6 entities:\n  InMemory without a file")
        let stack = try Stack(.btree)
        let path = try #require(stack.coordinator.persistentStores[0].path)
        #expect(stack.coordinator.debugDescription == "coordinator of 6 entities:\n  BTree \(path)")
    }

    @Test func `a request shows its terms`() throws {
        var request = Sensor.fetchRequest(
            try FetchPredicate(format: "level > 3"), sortedBy: [SortKey("name"), SortKey("level", ascending: false)])
        (request.fetchLimit, request.fetchOffset) = (10, 20)
        (request.includesSubentities, request.includesPendingChanges) = (false, false)
        request.returnsObjectsAsFaults = false
        request.relationshipKeyPathsForPrefetching = ["tags"]

        #expect(
            request.debugDescription == "fetch Sensor, where level > 3, sorted by name, level descending, limit 10, "
                + "offset 20, without subentities, without unsaved changes, no faults, prefetching tags, as Sensor")
        #expect(Sensor.fetchRequest().debugDescription == "fetch Sensor, as Sensor")
    }
}
