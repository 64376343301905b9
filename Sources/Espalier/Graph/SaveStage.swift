// The hook that a running save calls at this moment; the save refuses calls that would disturb it.
//
// Invariants
//   1. A context has a stage exactly while its `save` runs, or the closure of a transaction, or while the save of a
//      child changes it (`ChildSave`).
//   2. `save` inside a save throws. `reset` and `rollback` inside a save are refused before its stores have committed,
//      and the save reports that; after the commit, in `didSave`, they take effect.
//   3. A save that fails returns to the generation with which it began: until its stores have committed, and in the
//      closure of a transaction, `setQueryGeneration` throws, and `mergeChanges(from:)` waits for the end.

import EspalierModel

/// The application code that a running save calls.
struct SaveStage {
    /// The kind of code that is called.
    enum Hook: String {
        case transaction = "the closure of a transaction"
        case childSave = "the save of a child"
        case willSave
        case willSaveObserver = "an observer of WillSaveMessage"
        case deleteRules = "prepareForDeletion"
        case validateForInsert, validateForUpdate, validateForDelete
        case storing = "the hooks of objects while rows are written"
        case mergePolicy = "the merge policy"
        case didSave
        case changeObserver = "an observer of ObjectsDidChangeMessage"
        case didSaveObserver = "an observer of DidSaveMessage"

        /// Whether stores have committed when it is called.
        var isAfterCommit: Bool { self == .didSave || self == .changeObserver || self == .didSaveObserver }

        /// Whether a save collects or validates changes when it is called, or a transaction makes them.
        var precedesWriting: Bool {
            self == .transaction || self == .willSave || self == .willSaveObserver || isValidation
        }

        /// Whether it validates an object: what it sets is validated, too.
        var isValidation: Bool {
            self == .validateForInsert || self == .validateForUpdate || self == .validateForDelete
        }
    }

    /// The place from which a store that carries out a command cannot be changed: its progress is a closure, too.
    static let batchClosure = "the closure of a batch request"

    /// The place from which a store cannot be removed while a save of the same thread runs, whoever saves.
    static let hookOrObserver = "a hook or an observer of a save"

    var hook: Hook
    /// Retained by the changes that are saved, because a stage is made for each call of a hook.
    private let storedObject: Unretained<ManagedObject>
    /// The object whose hook runs; `nil` between hooks.
    var object: ManagedObject? { storedObject.object }

    /// - Parameter object: the caller retains it until it sets another stage.
    init(_ hook: Hook, _ object: ManagedObject? = nil) { (self.hook, storedObject) = (hook, Unretained(object)) }
}

extension ManagedObjectContext {
    /// Throws if the context is already saving, or if a store waits for the rows of its batch request.
    func checkIsNotSaving() throws(ContextError) {
        if runsBatch { throw .alreadySaving(hook: SaveStage.batchClosure, object: nil) }
        guard let stage else { return }
        throw .alreadySaving(hook: stage.hook.rawValue, object: stage.object?.storedID)
    }

    /// Whether a running save or transaction may still fail, and return to the state with which it began.
    var mayTakeBack: Bool { stage?.hook.isAfterCommit == false }

    /// Throws if a part is writing what the context has sent, so that no object must get another ID now.
    func checkIsNotStoring() throws(ContextError) {
        if runsBatch || stage?.hook == .storing { try checkIsNotSaving() }
    }

    /// Whether `call` would discard the changes that a running save is about to write; if so, the save reports it.
    func refusesWhileSaving(_ call: String) -> Bool {
        guard let stage, !stage.hook.isAfterCommit else { return false }
        let reason = Violation.Reason.notWhileSaving(call: call, hook: stage.hook.rawValue)
        if let object = stage.object {
            record(Violation(object, nil, reason))
        } else {
            record(Violation(nil, entityName: "ManagedObjectContext", reason))
        }
        return true
    }
}
