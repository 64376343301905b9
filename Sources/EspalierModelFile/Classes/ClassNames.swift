// The names of the classes of a model's entities.
//
// Invariants
//   1. Each entity has a class of its own, and no class has a name that generated source uses otherwise.
//   2. The class is called as the model file calls it, without the name of a module; else as the entity; else as the
//      entity with `Entity` at the end.

import EspalierModel

struct ClassNames {
    private var names: [String: String] = [:]
    /// The names of all classes.
    private(set) var all: Set<String> = []

    /// Finds the names, in the order of the entities; a class that is called as its entity comes before all others.
    init(of model: ManagedObjectModel) {
        var others: [(entity: String, wanted: String?)] = []
        for entity in model.entities {
            let wanted = Self.nameInFile(entity.description)
            if SwiftText.canNameType(entity.name), wanted == nil || wanted == entity.name {
                add(entity.name, for: entity.name)
            } else {
                others.append((entity.name, wanted))
            }
        }
        for (entity, wanted) in others {
            let names = [wanted, entity].compactMap(\.self).filter { SwiftText.canNameType($0) && !all.contains($0) }
            var (name, number) = (names.first ?? "\(entity)Entity", 2)
            while all.contains(name) || !SwiftText.canNameType(name) {
                name = "\(entity)Entity\(number)"
                number += 1
            }
            add(name, for: entity)
        }
    }

    /// The name of the class of an entity.
    subscript(_ entity: String) -> String { names[entity] ?? entity }

    private mutating func add(_ name: String, for entity: String) {
        names[entity] = name
        all.insert(name)
    }

    /// The name of the class in the model file; `nil` if the file names none, or one of all entities.
    private static func nameInFile(_ entity: EntityDescription) -> String? {
        let name = entity.managedObjectClassName?.split(separator: ".").last.map(String.init)
        return name.flatMap { SwiftText.canNameType($0) && $0 != "NSManagedObject" ? $0 : nil }
    }
}
