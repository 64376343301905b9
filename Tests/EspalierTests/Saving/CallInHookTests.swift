// Calls of a context in hooks of a save, a refresh, a merge or a fault: each does all that it says, waits, or throws.

import Espalier
import EspalierModel
import EspalierStore
import Testing

@Suite struct CallInHookTests {
    private let stack: Stack
    private let context: ManagedObjectContext
    /// Two stored clerks with the number 3, whose values the context has read.
    private let clerk: Clerk
    private let other: Clerk

    init() throws {
        stack = try Stack(.btree, classes: [Clerk.self])
        let writer = stack.newContext()
        for name in ["clerk", "other"] { Clerk(context: writer).name = name }
        try writer.save()
        context = stack.newContext()
        let clerks = try context.fetch(FetchRequest<Clerk>(sortedBy: [SortKey("name")]))
        try #require(clerks.map(\.number) == [3, 3])
        (clerk, other) = (clerks[0], clerks[1])
    }

    /// An error of a hook of the application's own.
    private struct Refusal: Error {}

    /// Changes the number of the other clerk in another context, and saves.
    private func changeOtherElsewhere() throws {
        let rival = stack.newContext()
        let theirs = try #require(try rival.existingObject(with: other.objectID) as? Clerk)
        theirs.number = 40
        try rival.save()
    }

    // MARK: Hooks of a save

    @Test(arguments: [false, true])
    func `a merge that a hook asks for waits for the end of the save, also of one that fails`(_ fails: Bool) throws {
        try changeOtherElsewhere()
        let (context, other) = (context, other)
        clerk.number = 5
        clerk.onSave = {
            context.mergeChanges(from: SavedChanges(updated: [other.objectID]))
            #expect(other.number == 3)
        }
        if fails { clerk.onValidation = { throw Refusal() } }

        #expect((contextError { try context.save() } != nil) == fails)

        #expect(other.number == 40 && !other.hasChanges)
        #expect(clerk.number == 5 && clerk.hasChanges == fails)
    }

    @Test(arguments: [false, true])
    func `a merge in the closure of a transaction waits for its end, also if it fails`(_ fails: Bool) throws {
        try changeOtherElsewhere()
        var failed = false

        do {
            try context.transaction {
                context.mergeChanges(from: SavedChanges(updated: [other.objectID]))
                clerk.number = 5
                #expect(other.number == 3)
                if fails { throw Refusal() }
            }
        } catch is Refusal {
            failed = true
        }

        #expect(failed == fails)
        #expect(other.number == 40 && clerk.number == (fails ? 3 : 5) && !context.hasChanges)
    }

    @Test func `the generation is not chosen in a hook before the commit, and is in one after it`() throws {
        let (context, id) = (context, clerk.objectID)
        var calls: [String] = []
        clerk.number = 5
        clerk.onSave = {
            let error = contextError { try context.setQueryGeneration(from: .current) }
            if case .alreadySaving(hook: "willSave", object: id)? = error { calls.append("refused") }
        }
        clerk.afterSave = {
            if contextError({ try context.setQueryGeneration(from: .current) }) == nil { calls.append("chosen") }
        }

        try context.save()
        let inTransaction = #expect(throws: ContextError.self) {
            try context.transaction { try context.setQueryGeneration(from: nil) }
        }

        #expect(calls == ["refused", "chosen"])
        guard case .alreadySaving("the closure of a transaction", nil)? = inTransaction else {
            Issue.record("\(String(describing: inTransaction))")
            return
        }
        // Still pinned: the closure has not unpinned it.
        try changeOtherElsewhere()
        context.refreshAllObjects()
        #expect(other.number == 3)
    }

    @Test func `a new object gets no other ID while its parent takes it`() throws {
        let child = ManagedObjectContext(parent: context)
        let new = Clerk(context: child)
        let store = try #require(stack.coordinator.persistentStores.first)
        var refusals = 0
        try whenParentFires(of: child) {
            for error in [
                contextError({ try child.obtainPermanentIDs(for: [new]) }),
                contextError({ try child.assign([new], to: store) }),
            ] {
                if case .alreadySaving("the hooks of objects while rows are written", nil)? = error { refusals += 1 }
            }
        }

        try child.save()

        #expect(refusals == 2 && !new.objectID.isTemporary && !child.hasChanges)
        #expect(context.registeredObject(for: new.objectID)?.isInserted == true)
        try context.save()
        #expect(try context.count(for: FetchRequest<Clerk>()) == 3)
    }

    @Test func `a deletion that a hook takes back while the parent takes it is saved`() throws {
        let child = ManagedObjectContext(parent: context)
        let deleted = try #require(try child.existingObject(with: other.objectID) as? Clerk)
        try child.delete(deleted)
        try whenParentFires(of: child) { child.refresh(deleted, mergesChanges: false) }

        try child.save()

        #expect(deleted.managedObjectContext == nil && !child.hasChanges)
        #expect(other.isDeleted && context.deletedObjects == [other])
    }

    @Test func `an object that a hook deletes while the parent inserts it leaves the child`() throws {
        let child = ManagedObjectContext(parent: context)
        let new = Clerk(context: child)
        try whenParentFires(of: child) {
            #expect(contextError { try child.delete(new) } == nil)
            child.processPendingChanges()
        }

        try child.save()

        #expect(new.managedObjectContext == nil && !child.hasChanges && context.insertedObjects.count == 1)
        #expect(child.registeredObjects.allSatisfy { $0.managedObjectContext === child })
        #expect(try child.fetch(FetchRequest<Clerk>()).count == 3)
    }

    /// Changes the clerk in a child, whose save will make the fault of the parent fire, and call `act`.
    private func whenParentFires(of child: ManagedObjectContext, _ act: @escaping () -> Void) throws {
        let mine = try #require(try child.existingObject(with: clerk.objectID) as? Clerk)
        mine.number = 5
        context.refresh(clerk, mergesChanges: false)
        clerk.onFetch = act
    }

    // MARK: Hooks of faults

    @Test func `what willTurnIntoFault changes of its object is discarded with the rest`() throws {
        let clerk = clerk
        clerk.onFault = { clerk.number = 9 }

        context.refresh(clerk, mergesChanges: false)

        #expect(!context.hasChanges && context.updatedObjects.isEmpty)
        #expect(clerk.number == 3 && !clerk.hasChanges)
    }

    @Test func `a child does not save to an object that becomes a fault, and keeps its changes`() throws {
        let child = ManagedObjectContext(parent: context)
        let mine = try #require(try child.existingObject(with: clerk.objectID) as? Clerk)
        mine.number = 9
        var error: ContextError?
        clerk.onFault = { error = contextError { try child.save() } }

        context.refresh(clerk, mergesChanges: false)

        guard case .alreadySaving("willTurnIntoFault or didTurnIntoFault", nil)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(mine.number == 9 && mine.hasChanges && clerk.number == 3)
        try child.save()
        #expect(clerk.number == 9 && context.updatedObjects == [clerk])
    }

    @Test func `a child's save in awakeFromFetch changes the object that awakes`() throws {
        let child = ManagedObjectContext(parent: context)
        let mine = try #require(try child.existingObject(with: clerk.objectID) as? Clerk)
        mine.number = 9
        context.refresh(clerk, mergesChanges: false)
        clerk.onFetch = { #expect(contextError { try child.save() } == nil) }

        #expect(clerk.name == "clerk")

        #expect(clerk.number == 9 && context.updatedObjects == [clerk] && !child.hasChanges)
        try context.save()
        #expect(try stack.stored(Clerk.self).map(\.number).sorted() == [3, 9])
    }

    // MARK: Undo

    @Test func `an undo in awakeFromFetch changes the object that awakes`() throws {
        let (context, undoManager) = (context, UndoStack())
        context.undoManager = undoManager
        clerk.number = 9
        try context.save()
        context.refresh(clerk, mergesChanges: false)
        clerk.onFetch = { #expect(undoError { try context.undo() } == nil) }

        #expect(clerk.name == "clerk")

        #expect(clerk.number == 3 && context.updatedObjects == [clerk] && undoManager.redoCount == 1)
        try context.redo()
        #expect(clerk.number == 9)
    }

    @Test func `an undo in a hook of a refresh is refused, and undoes and redoes all afterwards`() throws {
        let (context, undoManager) = (context, UndoStack())
        context.undoManager = undoManager
        clerk.number = 9
        context.processPendingChanges()
        var errors: [UndoError?] = []
        other.onFault = { errors.append(undoError { try context.undo() }) }

        context.refresh(other, mergesChanges: false)

        #expect(errors == [.contextIsMerging] && clerk.number == 9)
        try context.undo()
        #expect(clerk.number == 3)
        try context.redo()
        #expect(clerk.number == 9)
    }

    @Test func `a nested group is not undone in a hook before the commit`() throws {
        let (context, undoManager) = (context, UndoStack())
        context.undoManager = undoManager
        undoManager.beginUndoGrouping()
        clerk.number = 9
        context.processPendingChanges()
        try undoManager.endUndoGrouping()
        var errors: [UndoError?] = []
        clerk.onSave = { errors.append(undoError { try undoManager.undoNestedGroup() }) }
        clerk.onValidation = { throw Refusal() }

        #expect(contextError { try context.save() } != nil)

        #expect(errors == [.contextIsSaving] && clerk.number == 9)
        try context.undo()
        #expect(clerk.number == 3)
    }

    @Test func `an undo manager that a hook of a refresh begins records what follows`() throws {
        let context = context
        context.undoManager = UndoStack()
        clerk.onFault = { context.undoManager = UndoStack() }

        context.refresh(clerk, mergesChanges: false)
        clerk.number = 9
        try context.undo()

        #expect(clerk.number == 3)
    }

    @Test func `an undo manager that a hook of a failing save begins has nothing to undo`() throws {
        let (context, clerk) = (context, clerk)
        context.undoManager = UndoStack()
        clerk.number = 5
        clerk.onSave = {
            context.undoManager = nil
            context.undoManager = UndoStack()
            clerk.number = 6
        }
        clerk.onValidation = { throw Refusal() }

        #expect(contextError { try context.save() } != nil)

        #expect(clerk.number == 5 && undoError { try context.undo() } == .nothingToUndo)
    }

    @Test func `an observer of a refresh changes objects in steps of their own`() throws {
        let (context, clerk, other) = (context, clerk, other)
        context.undoManager = UndoStack()
        let token = context.addObserver(for: ManagedObjectContext.ObjectsDidChangeMessage.self) { message in
            if message.refreshed.contains(clerk) { other.number = 9 }
        }

        context.refresh(clerk, mergesChanges: false)
        #expect(other.number == 9)
        try context.undo()

        #expect(other.number == 3)
        withExtendedLifetime(token) {}
    }
}

/// An object whose hooks run the closures that it has, each once.
private final class Clerk: ManagedObject {
    override class var entityDescription: EntityDescription {
        EntityDescription(
            "Clerk",
            properties: [
                EntityDescription._property("name", String.self, defaultValue: ""),
                EntityDescription._property("number", Int.self, defaultValue: 3),
            ])
    }
    var name: String {
        get { _get("name", at: 0) }
        set { _set("name", at: 0, newValue) }
    }
    var number: Int {
        get { _get("number", at: 1) }
        set { _set("number", at: 1, newValue) }
    }
    var onFetch: (() -> Void)?
    var onFault: (() -> Void)?
    var onSave: (() -> Void)?
    var afterSave: (() -> Void)?
    var onValidation: (() throws -> Void)?

    private func run(_ hook: ReferenceWritableKeyPath<Clerk, (() -> Void)?>) {
        let body = self[keyPath: hook]
        self[keyPath: hook] = nil
        body?()
    }

    override func awakeFromFetch() { run(\.onFetch) }
    override func willTurnIntoFault() { run(\.onFault) }
    override func willSave() { run(\.onSave) }
    override func didSave() { run(\.afterSave) }
    override func validateForUpdate() throws {
        let body = onValidation
        onValidation = nil
        try body?()
    }
}
