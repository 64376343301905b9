// The hook of an object whose values something else than the application has set (MO-29).

import Espalier
import EspalierModel
import Testing

@Suite struct SnapshotEventTests {
    @Test func `an undo and a redo call the hook once for each object, with what they did to it (MO-29)`() throws {
        let (stack, sensor) = try Stack.ofSensor(.inMemory)
        let context = stack.context
        context.undoManager = UndoStack()
        sensor.name = "a"
        sensor.level = 1
        let new = Sensor(context: context)
        context.processPendingChanges()
        try context.save()

        try context.undo()
        #expect(sensor.events == [.undoUpdate] && new.events == [[.undoInsertion, .undoUpdate]])
        #expect(sensor.shown == "<first>" && new.isDeleted && context.recordedViolations.isEmpty)
        try context.redo()
        #expect(sensor.events == [.undoUpdate, .undoUpdate] && sensor.shown == "<a>")
        #expect(new.events.last?.contains(.undoDeletion) == true && !new.isDeleted)

        try context.delete(sensor)
        context.processPendingChanges()
        try context.undo()
        #expect(sensor.events.last?.contains(.undoDeletion) == true && sensor.shown == "<a>")
        context.processPendingChanges()
        try context.saveAndCompare()
    }

    @Test(arguments: [false, true])
    func `a rollback calls the hook of what it restores, and what the hook sets is no change (MO-29)`(
        isChild: Bool
    ) throws {
        let (stack, original) = try Stack.ofSensor(.inMemory)
        let context = isChild ? ManagedObjectContext(parent: stack.context) : stack.context
        let sensor = try context[original.ref]
        let (new, deleted) = (Sensor(context: context), Sensor(context: context))
        try context.save()
        sensor.name = "x"
        try context.delete(deleted)
        let gone = Sensor(context: context)

        context.rollback()

        #expect(sensor.events == [.rollback] && sensor.shown == "<first>" && deleted.events == [.rollback])
        #expect(new.events.isEmpty && gone.events.isEmpty)
        #expect(!context.hasChanges && !sensor.hasChanges)
    }

    @Test(arguments: StoreKind.allCases)
    func `a refresh and a merge below changes call the hook, others fire the fault again (MO-29)`(
        _ kind: StoreKind
    ) throws {
        let (stack, sensor) = try Stack.ofSensor(kind)
        try stack.rename(sensor, "theirs")
        sensor.level = 4

        stack.context.refresh(sensor, mergesChanges: true)

        #expect(sensor.events == [.refresh] && sensor.shown == "<theirs>" && sensor.level == 4)
        try stack.context.save()
        stack.context.refresh(sensor, mergesChanges: true)
        #expect(sensor.isFault && sensor.events == [.refresh])

        stack.context.automaticallyMergesChangesFromParent = true
        sensor.level = 5
        try stack.rename(sensor, "later")
        stack.context.processPendingChanges()
        #expect(sensor.events == [.refresh, .refresh] && sensor.shown == "<later>")
    }

    @Test func `a child's object gets the hook when its parent changes below its own changes (MO-29)`() throws {
        let (stack, sensor) = try Stack.ofSensor(.inMemory)
        let child = ManagedObjectContext(parent: stack.context)
        let twin = try child[sensor.ref]
        twin.level = 4

        sensor.name = "parent's"
        child.processPendingChanges()

        #expect(twin.events == [.refresh] && twin.shown == "<parent's>" && twin.level == 4)
    }

    @Test(arguments: StoreKind.allCases)
    func `a policy that decides a conflict calls the hook, once (MO-29)`(_ kind: StoreKind) throws {
        for policy in [MergePolicy.storeTrump, .objectTrump, .overwrite, .rollback] {
            let (stack, sensor) = try Stack.ofSensor(kind)
            try stack.rename(sensor, "theirs")
            (sensor.name, stack.context.mergePolicy) = ("mine", policy)

            try stack.context.save()

            let isKept = policy == .objectTrump || policy == .overwrite
            #expect(sensor.events == [.mergePolicy] && sensor.shown == (isKept ? "<mine>" : "<theirs>"))
            #expect(!stack.context.hasChanges)
        }
    }

    @Test func `a hook may reset the context that calls it (MO-29)`() throws {
        let (stack, sensor) = try Stack.ofSensor(.inMemory)
        let other = Sensor(context: stack.context)
        try stack.context.save()
        (sensor.name, other.name) = ("x", "y")
        sensor.onHook = { hook, sensor in if hook == "awake" { sensor.managedObjectContext?.reset() } }
        other.onHook = sensor.onHook

        stack.context.rollback()

        #expect(stack.context.registeredObjects.isEmpty && sensor.managedObjectContext == nil)
        #expect(sensor.events.count + other.events.count == 1)
    }
}
