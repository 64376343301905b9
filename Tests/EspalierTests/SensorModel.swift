// Sensors of sites: a class with every hook, an accessor of its own, and a stack on them.

import Espalier
import EspalierModel
import Testing

final class Sensor: ManagedObject {
    override class var entityDescription: EntityDescription {
        EntityDescription(
            "Sensor",
            properties: [
                EntityDescription._property("name", String.self, defaultValue: ""),
                EntityDescription._property("level", Int16.self, defaultValue: 0),
                EntityDescription._property("shown", String?.self, options: .init(isTransient: true)),
                EntityDescription._property("site", Site?.self, options: .init(inverse: "sensors")),
                EntityDescription._property("tags", Set<Tag>.self, options: .init(inverse: "sensors")),
            ])
    }
    override class var validatedKeys: [String] { ["level", "tags"] }

    var name: String {
        get { _get("name", at: 0) }
        set { _set("name", at: 0, newValue) }
    }
    /// The level, by an accessor of this class that reads and writes the primitive value.
    var level: Int16 {
        get {
            willAccessValue(forKey: "level")
            defer { didAccessValue(forKey: "level") }
            guard case .attribute(.integer(let number))? = try? primitiveValue(forKey: "level") else { return -1 }
            return Int16(number)
        }
        set {
            willChangeValue(forKey: "level")
            try? setPrimitiveValue(.attribute(.integer(Int64(newValue))), forKey: "level")
            didChangeValue(forKey: "level")
        }
    }
    var shown: String? {
        get { _get("shown", at: 2) }
        set { _set("shown", at: 2, newValue) }
    }
    var site: Site? {
        get { _get("site", at: 3) }
        set { _set("site", at: 3, newValue) }
    }
    var tags: Set<Tag> {
        get { _get("tags", at: 4) }
        set { _set("tags", at: 4, newValue) }
    }

    /// Called by every hook, with its name.
    var onHook: (String, Sensor) -> Void = { _, _ in }
    private(set) var events: [SnapshotEvents] = []
    private(set) var checkedKeys: [String] = []

    override func awakeFromInsert() { name = "baseline" }
    override func awakeFromFetch() { onHook("awakeFromFetch", self) }
    override func awake(fromSnapshotEvents events: SnapshotEvents) {
        self.events.append(events)
        shown = "<\(name)>"
        onHook("awake", self)
    }
    override func willSave() { onHook("willSave", self) }
    override func willTurnIntoFault() { onHook("willTurnIntoFault", self) }
    override func didTurnIntoFault() { onHook("didTurnIntoFault", self) }
    override func validate(_ value: inout PropertyValue, forKey key: String) throws {
        checkedKeys.append(key)
        switch value {
        case .attribute(.integer(13)): throw Unlucky()
        case .attribute(.integer(let number)) where number > 100 && number < 1000: value = .attribute(.integer(100))
        case .attribute(.integer(1000)): value = .attribute(.integer(1 << 40))
        case .attribute(.string("wrong")): value = .attribute(.boolean(true))
        case .toMany(let tags) where tags.count > 2: throw Unlucky()
        default: break
        }
    }

    struct Unlucky: Error, CustomStringConvertible {
        let description = "unlucky"
    }
}

final class Site: ManagedObject {
    override class var entityDescription: EntityDescription {
        EntityDescription(
            "Site",
            properties: [
                EntityDescription._property("name", String.self, defaultValue: ""),
                EntityDescription._property(
                    "sensors", [Sensor].self, options: .init(inverse: "site", deleteRule: .cascade)),
            ])
    }
    var name: String {
        get { _get("name", at: 0) }
        set { _set("name", at: 0, newValue) }
    }
    var sensors: [Sensor] {
        get { _get("sensors", at: 1) }
        set { _set("sensors", at: 1, newValue) }
    }
}

final class Tag: ManagedObject {
    override class var entityDescription: EntityDescription {
        EntityDescription(
            "Tag",
            properties: [
                EntityDescription._property("name", String.self, defaultValue: ""),
                EntityDescription._property("sensors", Set<Sensor>.self, options: .init(inverse: "tags")),
            ])
    }
    var name: String {
        get { _get("name", at: 0) }
        set { _set("name", at: 0, newValue) }
    }
    var sensors: Set<Sensor> {
        get { _get("sensors", at: 1) }
        set { _set("sensors", at: 1, newValue) }
    }
}

/// All classes.
let sensorClasses: [ManagedObject.Type] = [Sensor.self, Site.self, Tag.self]

extension Stack {
    /// A stack with one saved sensor of two tags, in the stack's context.
    static func ofSensor(_ kind: StoreKind) throws -> (stack: Stack, sensor: Sensor) {
        let stack = try Stack(kind, classes: sensorClasses)
        let sensor = Sensor(context: stack.context)
        sensor.name = "first"
        for name in ["a", "b"] {
            let tag = Tag(context: stack.context)
            (tag.name, tag.sensors) = (name, [sensor])
        }
        try stack.context.save()
        return (stack, sensor)
    }

    /// Sets the name of a sensor by a context of its own, and saves.
    func rename(_ sensor: Sensor, _ name: String) throws {
        let other = newContext()
        try other[sensor.ref].name = name
        try other.save()
    }
}
