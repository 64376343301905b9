// The hooks that undoing calls and those that it does not, the objects that an undo manager retains, and their end
// (MC-55, MC-58).

import Espalier
import EspalierModel
import Testing

@Suite struct UndoHookTests {
    private let stack: Stack
    private var context: ManagedObjectContext { stack.context }
    private let undoManager = UndoStack()

    init() throws {
        stack = try Stack(.inMemory, classes: [Gauge.self])
        stack.context.undoManager = undoManager
    }

    @Test func `undoing passes by accessors and hooks, and observers are told (MC-55)`() throws {
        let gauge = Gauge(context: context)
        try context.save()
        gauge.number = 5
        context.processPendingChanges()
        try context.delete(gauge)
        context.processPendingChanges()
        let calls = gauge.calls
        var told: [Set<ManagedObject>] = []
        let token = context.addObserver(for: ManagedObjectContext.ObjectsDidChangeMessage.self) { message in
            told.append(message.updated.union(message.refreshed).union(message.deleted))
        }

        for _ in 0..<2 { try context.undo() }
        for _ in 0..<2 { try context.redo() }

        withExtendedLifetime(token) {}
        #expect(gauge.calls == calls && calls == ["insert", "set 5", "delete"])
        #expect(told.count == 4 && told.allSatisfy { $0 == [gauge] })
    }

    @Test func `an object that comes back is not told again that it was inserted (MO-27)`() throws {
        let gauge = Gauge(context: context)
        #expect(gauge.number == 3)
        try context.undo()
        #expect(gauge.managedObjectContext == nil && gauge.calls == ["insert"])
        try context.redo()
        #expect(gauge.number == 3 && gauge.isInserted && gauge.calls == ["insert"])
        try context.saveAndCompare()
    }

    @Test func `a transient value is undone like others, also over a save (MO-40)`() throws {
        let gauge = Gauge(context: context)
        try context.save()
        gauge.mood = 1
        context.processPendingChanges()
        gauge.mood = 2
        try context.save()
        try context.undo()
        #expect(gauge.mood == 1)
        try context.undo()
        #expect(gauge.mood == nil && gauge.hasChanges && !gauge.hasPersistentChangedValues)
        try context.redo()
        #expect(gauge.mood == 1)
    }

    @Test func `an undo manager keeps what has changed, and without one nothing is kept (MC-58)`() throws {
        for isKept in [true, false] {
            let context = stack.newContext()
            if isKept { context.undoManager = undoManager }
            weak var weakGauge: Gauge?
            do {
                let gauge = Gauge(context: context)
                try context.save()
                weakGauge = gauge
            }
            #expect((weakGauge != nil) == isKept)
            context.undoManager = nil
            #expect(weakGauge == nil)
        }
        #expect(!undoManager.canUndo)
    }

    @Test func `what a context has changed that has ended cannot be undone, and what others have can`() throws {
        let mine = Gauge(context: context)
        context.processPendingChanges()
        for _ in 0..<2 {
            let other = stack.newContext()
            other.undoManager = undoManager
            _ = Gauge(context: other)
            other.processPendingChanges()
        }
        #expect(undoManager.undoCount == 1)
        var owner: Gauge? = mine
        if let owner { undoManager.registerUndo(withTarget: Witness()) { _ in owner.number = 9 } }
        owner = nil
        try undoManager.undo()
        #expect(mine.managedObjectContext == nil && mine.number != 9)
        #expect(undoError { try undoManager.undo() } == .nothingToUndo)
        context.undoManager = nil
        #expect(undoError { try undoManager.redo() } == .nothingToRedo)
        #expect(undoError { try context.redo() } == .noUndoManager)
    }

    @Test func `a save that fails leaves nothing to undo of what its hooks did, though they fetch`() throws {
        let gauge = Gauge(context: context)
        try context.save()
        gauge.number = 5
        context.processPendingChanges()
        gauge.onSave = { gauge in
            gauge.number = -1
            _ = try? gauge.managedObjectContext?.count(for: FetchRequest<Gauge>())
            gauge.managedObjectContext?.processPendingChanges()
        }
        #expect(contextError { try context.save() } != nil)
        #expect(gauge.number == 5 && undoManager.undoCount == 2)
        try context.undo()
        #expect(gauge.number == 3)
        try context.undo()
        #expect(gauge.isDeleted)
    }

    @Test func `an undo manager cannot undo in a hook before the commit, and can in one after it`() throws {
        let gauge = Gauge(context: context)
        try context.save()
        gauge.number = 5
        gauge.onSave = { [undoManager] gauge in
            #expect(undoError { try undoManager.undo() } == .contextIsSaving)
        }
        gauge.afterSave = { [undoManager] in try? undoManager.undo() }
        try context.save()
        #expect(gauge.number == 3 && gauge.isUpdated && undoManager.redoCount == 1)
    }

    @Test func `a nested group is not undone in a hook before the commit, and can be after a save that fails`() throws {
        let gauge = Gauge(context: context)
        try context.save()
        undoManager.beginUndoGrouping()
        gauge.number = 5
        context.processPendingChanges()
        try undoManager.endUndoGrouping()
        gauge.onSave = { [undoManager] gauge in
            #expect(undoError { try undoManager.undoNestedGroup() } == .contextIsSaving)
            gauge.number = -1
        }

        #expect(contextError { try context.save() } != nil)

        #expect(gauge.number == 5)
        try undoManager.undoNestedGroup()
        #expect(gauge.number == 3)
    }

    @Test func `a hook of a save names the group that the save registers, and a group in it has nothing (MC-54)`()
        throws
    {
        let gauge = Gauge(context: context)
        try context.save()
        gauge.number = 5
        gauge.onSave = { [undoManager] gauge in
            undoManager.beginUndoGrouping()
            gauge.number = 6
            #expect(undoError { try undoManager.endUndoGrouping() } == nil)
            undoManager.setActionName("Gauge")
        }
        try context.save()
        #expect(gauge.number == 6 && undoManager.undoCount == 2 && undoManager.undoActionName == "Gauge")
        try context.undo()
        #expect(gauge.number == 3 && gauge.isUpdated && undoManager.redoActionName == "Gauge")
    }

    @Test func `what didSave changes is new, and is undone on its own (MO-32)`() throws {
        let gauge = Gauge(context: context)
        gauge.afterSave = { gauge.number = 9 }
        try context.save()
        #expect(gauge.number == 9 && gauge.isUpdated)
        try context.undo()
        #expect(gauge.number == 3 && gauge.managedObjectContext === context)
        try context.undo()
        #expect(gauge.isDeleted && undoManager.redoCount == 2)
    }

    @Test func `what does not fit is told by typed errors with advice, and changes nothing`() throws {
        #expect(undoError { try context.undo() } == .nothingToUndo)
        #expect(undoError { try context.redo() } == .nothingToRedo)
        #expect(undoError { try undoManager.undoNestedGroup() } == .nothingToUndo)
        #expect(undoError { try undoManager.endUndoGrouping() } == .noGroup)
        undoManager.beginUndoGrouping()
        #expect(undoError { try context.redo() } == .openGroup(level: 2))
        try undoManager.endUndoGrouping()
        #expect(!undoManager.canUndo && !context.hasChanges)
        let errors: [UndoError] = [
            .nothingToUndo, .nothingToRedo, .openGroup(level: 2), .noGroup, .registrationIsEnabled, .isBusy,
            .noUndoManager, .contextIsSaving, .contextIsMerging,
        ]
        #expect(Set(errors.map(\.description)).count == errors.count)

        // After each refusal the context and its undo manager work as before.
        let gauge = Gauge(context: context)
        try context.save()
        gauge.number = 7
        try context.undo()
        #expect(gauge.number == 3 && undoError { try undoManager.endUndoGrouping() } == .noGroup)
        try context.redo()
        try context.save()
        let reader = ManagedObjectContext(context.persistentStoreCoordinator)
        #expect((try reader.existingObject(with: gauge.objectID) as? Gauge)?.number == 7)
    }
}

extension UndoHookTests {
    // MARK: What is freed

    @Test func `what an action retains may call the undo manager when it is freed`() throws {
        let undoManager = undoManager
        undoManager.groupsByEvent = false
        let target = Witness()
        /// Registers an action that retains an object which calls the undo manager when it is freed.
        func register(withTarget target: Witness, freedBy witness: Witness) {
            witness.freedCount = 0
            let asker = Asker(undoManager, witness)
            undoManager.registerUndo(withTarget: target) { _ in withExtendedLifetime(asker) {} }
        }

        register(withTarget: target, freedBy: target)
        undoManager.removeAllActions()
        #expect(target.freedCount == 1)

        register(withTarget: target, freedBy: target)
        undoManager.removeAllActions(withTarget: target)
        #expect(target.freedCount == 1)

        undoManager.registerUndo(withTarget: target) { register(withTarget: $0, freedBy: $0) }
        try undoManager.undo()
        #expect(target.freedCount == 0 && undoManager.canRedo)
        undoManager.registerUndo(withTarget: target) { _ in }
        #expect(target.freedCount == 1 && !undoManager.canRedo)

        undoManager.levelsOfUndo = 1
        register(withTarget: target, freedBy: target)
        undoManager.registerUndo(withTarget: target) { _ in }
        #expect(target.freedCount == 1 && undoManager.undoCount == 1)

        undoManager.removeAllActions()
        register(withTarget: Witness(), freedBy: target)
        #expect(undoError { try undoManager.undo() } == .nothingToUndo)
        #expect(target.freedCount == 1)
    }

    @Test func `an object that only steps keep may change others when it is freed`() throws {
        let other = Gauge(context: context)
        do {
            let gauge = Gauge(context: context)
            try context.save()
            undoManager.removeAllActions()
            gauge.number = 5
            context.refresh(gauge, mergesChanges: false)
            gauge.onEnd = { other.number = 9 }
        }
        #expect(other.number == 3)

        context.undoManager = nil

        #expect(other.number == 9)
    }
}

/// A target of actions, most of which no variable keeps alive.
private final class Witness {
    var freedCount = 0
}

/// An object that calls an undo manager when it is freed.
private final class Asker {
    private let undoManager: UndoStack
    private let witness: Witness

    init(_ undoManager: UndoStack, _ witness: Witness) { (self.undoManager, self.witness) = (undoManager, witness) }

    deinit {
        undoManager.setActionName("\(undoManager.undoCount) and \(undoManager.redoCount)")
        witness.freedCount += 1
    }
}

/// An object that records the calls of its accessors and hooks.
private final class Gauge: ManagedObject {
    override class var entityDescription: EntityDescription {
        EntityDescription(
            "Gauge",
            properties: [
                EntityDescription._property("number", Int.self, defaultValue: 0),
                EntityDescription._property("mood", Int?.self, options: .init(isTransient: true)),
            ])
    }
    override class var entityName: String { "Gauge" }
    var number: Int {
        get { _get("number", at: 0) }
        set {
            calls.append("set \(newValue)")
            _set("number", at: 0, newValue)
        }
    }
    var mood: Int? {
        get { _get("mood", at: 1) }
        set { _set("mood", at: 1, newValue) }
    }
    private(set) var calls: [String] = []
    /// The action of its next `willSave`, which runs once.
    var onSave: ((Gauge) -> Void)?
    /// The action of its next `didSave`, which runs once.
    var afterSave: (() -> Void)?
    /// The action of its end.
    var onEnd: (() -> Void)?

    deinit { onEnd?() }

    override func awakeFromInsert() {
        calls.append("insert")
        _set("number", at: 0, 3)
    }
    override func prepareForDeletion() { calls.append("delete") }
    override func willSave() {
        let act = onSave
        onSave = nil
        act?(self)
    }
    override func didSave() {
        let act = afterSave
        afterSave = nil
        act?()
    }
    override func validateForUpdate() throws {
        if number < 0 { throw UndoError.noGroup }
    }
}
