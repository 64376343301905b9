// Validation of one value: on demand, and by the class in a save (MO-37).

import Espalier
import EspalierModel
import Testing

@Suite struct ValueValidationTests {
    private func checked(_ value: PropertyValue, _ key: String, of sensor: Sensor) throws -> PropertyValue {
        var value = value
        try sensor.validateValue(&value, forKey: key)
        return value
    }

    @Test func `one value is checked on demand, by model and class, and nothing is set (MO-37)`() throws {
        let (stack, sensor) = try Stack.ofSensor(.inMemory)

        #expect(try checked(.attribute(.integer(7)), "level", of: sensor) == .attribute(.integer(7)))
        #expect(try checked(.attribute(.integer(500)), "level", of: sensor) == .attribute(.integer(100)))
        for (value, key, code) in [
            (PropertyValue.attribute(.integer(13)), "level", 1550), (.attribute(.integer(1 << 20)), "level", 1610),
            (.attribute(.integer(1000)), "level", 1610), (.attribute(.null), "name", 1570),
            (.attribute(.string("wrong")), "name", 1550), (.attribute(.string("x")), "level", 1550),
            (.toOne(nil), "level", 1550), (.attribute(.null), "height", 1550), (.toMany([]), "site", 1550),
            (.toOne(sensor), "site", 1550), (.toOne(nil), "tags", 1550),
        ] {
            let found = violations { _ = try checked(value, key, of: sensor) }
            #expect(found.map(\.code) == [code] && found.first?.property == key, "\(value) for \(key): \(found)")
        }
        #expect(!sensor.hasChanges && sensor.level == 0 && stack.context.recordedViolations.isEmpty)
    }

    @Test func `destinations are checked on demand, too (MO-37)`() throws {
        let (stack, sensor) = try Stack.ofSensor(.inMemory)
        let tags = (0..<3).map { _ in Tag(context: stack.context) }
        let stranger = Tag(context: stack.newContext())

        #expect(try checked(.toMany([tags[0]]), "tags", of: sensor) == .toMany([tags[0]]))
        #expect(violations { _ = try checked(.toMany(tags), "tags", of: sensor) }.map(\.code) == [1550])
        #expect(violations { _ = try checked(.toMany([stranger]), "tags", of: sensor) }.count == 1)
        try stack.context.delete(tags[0])
        #expect(violations { _ = try checked(.toMany([tags[0]]), "tags", of: sensor) }.count == 1)
        #expect(sensor.tags.count == 2 && sensor.tags.isDisjoint(with: tags))
    }

    @Test(arguments: StoreKind.allCases)
    func `a save calls the hook for new and changed properties of the class, and stores what it says (MO-37)`(
        _ kind: StoreKind
    ) throws {
        let (stack, sensor) = try Stack.ofSensor(kind)
        #expect(Set(sensor.checkedKeys) == ["level", "tags"])
        let before = sensor.checkedKeys.count
        sensor.name = "other"
        try stack.context.save()
        #expect(sensor.checkedKeys.count == before)

        sensor.level = 500
        try stack.context.save()
        #expect(sensor.level == 100 && sensor.checkedKeys.last == "level")
        #expect(try stack.stored(Sensor.self).map(\.level) == [100])
        sensor.level = 13
        let found = violations { try stack.context.save() }
        #expect(found.count == 1 && found.first?.property == "level" && "\(found)".contains("unlucky"))
        sensor.level = 1000
        #expect(violations { try stack.context.save() }.map(\.code) == [1610])
        #expect(sensor.level == 1000)
        sensor.level = 14
        try stack.context.save()
    }

    @Test(arguments: StoreKind.allCases)
    func `a save takes the value that the hook puts in the place of one that breaks a rule of the model (MO-37)`(
        _ kind: StoreKind
    ) throws {
        let stack = try Stack(kind, classes: [Plate.self])
        let plate = Plate(context: stack.context)
        plate.text = "seventy"
        var value = PropertyValue.attribute(.string("seventy"))
        try plate.validateValue(&value, forKey: "text")
        #expect(value == .attribute(.string("seven")) && plate.text == "seventy")
        try stack.context.save()
        #expect(plate.text == "seven")

        plate.text = "elevens"
        try stack.context.save()
        #expect(try stack.stored(Plate.self).map(\.text) == ["eleve"])

        // The rules hold for the value that takes the place, too.
        plate.text = "worse"
        let found = violations { try stack.context.save() }
        #expect(found.map(\.property) == ["text"] && found.first?.value == .string("worse still"))
        #expect(plate.text == "worse")
        // A value that stays is reported, also beside one that is replaced.
        (plate.text, plate.note) = ("twelves", "seventy")
        #expect(violations { try stack.context.save() }.map(\.property) == ["note"])
    }

    @Test func `a child's save checks by the class, and its parent's save does again (MO-37)`() throws {
        let (stack, sensor) = try Stack.ofSensor(.inMemory)
        let child = ManagedObjectContext(parent: stack.context)
        let twin = try child[sensor.ref]
        twin.level = 13
        #expect(violations { try child.save() }.map(\.property) == ["level"])
        #expect(sensor.level == 0)

        twin.level = 200
        try child.save()

        #expect(sensor.level == 100 && twin.level == 100)
        let before = sensor.checkedKeys.count
        try stack.context.save()
        #expect(sensor.checkedKeys.count == before + 1)
    }

    @Test func `a class that names a property that it does not have is told so by the save (MO-37)`() throws {
        let context = try Stack(.inMemory, classes: [Tower.self]).context
        _ = try context.insertNewObject(forEntityName: "Tower")

        let found = violations { try context.save() }

        #expect(found.map(\.property) == ["height"] && context.hasChanges)
        #expect("\(found)".contains("name"))
    }
}

/// Two texts of at most five characters, of which the class cuts one.
private final class Plate: ManagedObject {
    override class var entityDescription: EntityDescription {
        let options = PropertyOptions(rules: [.maximumLength(5)])
        return EntityDescription(
            "Plate",
            properties: [
                EntityDescription._property("text", String.self, defaultValue: "", options: options),
                EntityDescription._property("note", String.self, defaultValue: "", options: options),
            ])
    }
    override class var validatedKeys: [String] { ["text"] }
    var text: String {
        get { _get("text", at: 0) }
        set { _set("text", at: 0, newValue) }
    }
    var note: String {
        get { _get("note", at: 1) }
        set { _set("note", at: 1, newValue) }
    }

    override func validate(_ value: inout PropertyValue, forKey key: String) throws {
        guard case .attribute(.string(let text)) = value else { return }
        value = .attribute(.string(text == "worse" ? "worse still" : String(text.prefix(5))))
    }
}

private final class Tower: ManagedObject {
    override class var entityDescription: EntityDescription {
        EntityDescription("Tower", properties: [EntityDescription._property("name", String?.self)])
    }
    override class var validatedKeys: [String] { ["height"] }
}
