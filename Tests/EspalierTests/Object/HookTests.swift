// The hooks of a class: when the context calls each, and the changes that a hook may make.

import Espalier
import EspalierModel
import Testing

@Suite struct HookTests {
    private func makeContext() throws -> ManagedObjectContext {
        let coordinator = PersistentStoreCoordinator(managedObjectModel: try ManagedObjectModel(for: [Note.self]))
        try coordinator.addPersistentStore(.inMemory)
        return ManagedObjectContext(coordinator)
    }

    @Test func `hooks are called once each, in the order of an object's life`() throws {
        let context = try makeContext()
        let note = Note(context: context)
        note.text = "a"
        try context.saveAndCompare()
        note.text = "b"
        try context.saveAndCompare()
        context.refresh(note, mergesChanges: false)
        _ = note.text
        try context.delete(note)
        try context.saveAndCompare()

        #expect(
            note.calls == [
                "awakeFromInsert", "willSave", "willSave", "validateForInsert", "didSave", "willSave",
                "validateForUpdate", "didSave", "willTurnIntoFault", "didTurnIntoFault", "awakeFromFetch",
                "prepareForDeletion", "willSave", "validateForDelete", "didSave",
            ])
    }

    @Test func `what willSave sets is saved, and what awakeFromFetch sets makes no change`() throws {
        let context = try makeContext()
        let note = Note(context: context)
        note.text = "four"
        try context.saveAndCompare()
        context.refresh(note, mergesChanges: false)

        #expect(note.length == 4 && note.shown == "<four>")
        #expect(!note.hasChanges && !context.hasChanges)
    }

    @Test func `what willSave has set is taken back if the save fails, and set again by the next`() throws {
        let context = try makeContext()
        let note = Note(context: context)
        note.text = "forbidden"

        for _ in 0..<2 {
            #expect(violations { try context.saveAndCompare() }.count == 1)
            #expect(note.text == "forbidden" && note.length == 0)
        }
        note.text = "fine"
        try context.saveAndCompare()
        #expect(note.text == "fine" && note.length == 4)
    }

    @Test func `errors of validation hooks are part of the report`() throws {
        let context = try makeContext()
        for text in ["forbidden", "fine", "forbidden"] {
            let note = Note(context: context)
            note.text = text
        }

        let found = violations { try context.saveAndCompare() }

        #expect(found.count == 2 && found.allSatisfy { "\($0)".contains("not allowed") })
        #expect(found.allSatisfy { $0.underlying is Note.NotAllowed }, "the thrown errors are lost")
    }

    @Test func `one hook reports several findings, with property, value and remedy, translated (MO-38)`() throws {
        let context = try makeContext()
        let note = Note(context: context)
        note.text = "twice"
        let error = try #require(contextError { try context.save() })

        let found = error.violations
        #expect(found.map(\.property) == ["text", "length"] && found.allSatisfy { $0.object == note.objectID })
        #expect(found.map(\.value) == [.string("twice"), nil] && found[0].remedy == "say it once")
        #expect("\(found[0])".hasSuffix(": \"twice\" is said often; say it once"), "\(found[0])")
        #expect(found[0].underlying is Note.NotAllowed && found[1].underlying == nil)
        let german = MessageTable(
            rules: ["\"twice\" is said often": "{property}: {value} kommt oft vor"], names: ["Note.text": "Text"])
        #expect(error.messages(german) == ["Text: \"twice\" kommt oft vor", "\(found[1])"])
        #expect(found.map(\.code) == [1550, 1550] && error.code == 1560)
    }
}

private final class Note: ManagedObject {
    struct NotAllowed: Error, CustomStringConvertible {
        let description = "this text is not allowed"
    }

    var calls: [String] = []

    override class var entityDescription: EntityDescription {
        EntityDescription(
            "Note",
            properties: [
                EntityDescription._property("text", String.self),
                EntityDescription._property("length", Int.self, defaultValue: 0),
                EntityDescription._property("shown", String?.self, options: .init(isTransient: true)),
            ])
    }
    var text: String {
        get { _get("text", at: 0) }
        set { _set("text", at: 0, newValue) }
    }
    var length: Int {
        get { _get("length", at: 1) }
        set { _set("length", at: 1, newValue) }
    }
    var shown: String? {
        get { _get("shown", at: 2) }
        set { _set("shown", at: 2, newValue) }
    }

    override func awakeFromInsert() { calls.append("awakeFromInsert") }
    override func awakeFromFetch() {
        calls.append("awakeFromFetch")
        shown = "<\(text)>"
    }
    override func prepareForDeletion() { calls.append("prepareForDeletion") }
    override func willSave() {
        calls.append("willSave")
        if !isDeleted, length != text.count { length = text.count }
    }
    override func didSave() { calls.append("didSave") }
    override func willTurnIntoFault() { calls.append("willTurnIntoFault") }
    override func didTurnIntoFault() { calls.append("didTurnIntoFault") }
    override func validateForInsert() throws {
        calls.append("validateForInsert")
        if text == "forbidden" { throw NotAllowed() }
        guard text == "twice" else { return }
        let first = Violation(
            self, property: "text", value: .string(text), message: "\"\(text)\" is said often", remedy: "say it once",
            underlying: NotAllowed())
        throw ContextError.violations([first, Violation(self, property: "length", message: "too long for a word")])
    }
    override func validateForUpdate() throws { calls.append("validateForUpdate") }
    override func validateForDelete() throws { calls.append("validateForDelete") }
}
