// Finds everything that is wrong with a set of entity descriptions, in one pass.
//
// Invariants
//   1. No problem hides another: each check goes on after a finding, as far as it has anything to go on.
//   2. Problems come in the order of the descriptions, each saying where, what, and what would be right.
//   3. Descriptions without problems resolve without surprise: names are unique and known, inheritance has no cycle.
// Not here: attributes (ModelChecker+Attributes), relationships, constraints and indexes (ModelChecker+References).

struct ModelChecker {
    let descriptions: [EntityDescription]
    /// The first entity of each name.
    let indexByName: [String: Int]
    private(set) var found: [ModelError.Problem] = []

    init(_ descriptions: [EntityDescription]) {
        self.descriptions = descriptions
        indexByName = Dictionary(
            descriptions.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
    }

    func problems() -> [ModelError.Problem] {
        var checker = self
        for index in descriptions.indices { checker.checkEntity(at: index) }
        checker.checkRenamedEntities()
        return checker.found
    }

    /// An entity of an older version has at most one successor.
    private mutating func checkRenamedEntities() {
        var successors: [String: String] = [:]
        for entity in descriptions {
            guard let identifier = entity.renamingIdentifier, !identifier.isEmpty else { continue }
            if let other = successors[identifier] {
                report(
                    entity.name,
                    "entity '\(other)' was called '\(identifier)' too; an entity has one successor")
            }
            successors[identifier] = entity.name
        }
    }

    /// Reports a problem of the model as a whole.
    mutating func report(_ message: String) { found.append(ModelError.Problem(entity: nil, message)) }

    mutating func report(_ entity: String, _ message: String) { report(entity, nil, message) }

    mutating func report(_ entity: String, _ property: String?, _ message: String) {
        found.append(ModelError.Problem(entity: entity, property: property, message))
    }

    /// The entity called `name`, as one of the descriptions.
    func entity(named name: String) -> EntityDescription? { indexByName[name].map { descriptions[$0] } }

    /// The entity and its superentities, topmost last; ends before an unknown name and before it would go round.
    func ancestry(of entity: EntityDescription) -> [EntityDescription] {
        var line = [entity]
        var names: Set<String> = [entity.name]
        while let name = line[line.count - 1].superentity, names.insert(name).inserted,
            let above = self.entity(named: name)
        {
            line.append(above)
        }
        return line
    }

    /// `; did you mean 'x'?` if a name is near; after many problems there are no hints, whose cost grows with names.
    func hint(_ name: String, among names: [String]) -> String {
        guard found.count < Self.hintedProblemCountMax else { return "" }
        return NameSuggestion.nearest(to: name, among: names).map { "; did you mean '\($0)'?" } ?? ""
    }

    private mutating func checkEntity(at index: Int) {
        let entity = descriptions[index]
        checkName(entity.name, of: "an entity", in: entity, property: nil)
        if let first = indexByName[entity.name], first != index {
            report(entity.name, "there are two entities of this name; rename one of them")
        }
        if entity.renamingIdentifier == "" {
            report(entity.name, "the renaming identifier is empty; give the old name, or nil")
        }
        checkModifier(entity.versionHashModifier, of: entity, property: nil)
        if entity.managedObjectClassName == "" {
            report(entity.name, "the name of the class is empty; give one, or nil")
        }
        checkSuperentity(of: entity)
        checkPropertyNames(of: entity)
        for attribute in entity.attributes {
            checkAttribute(attribute, of: entity)
            checkModifier(attribute.versionHashModifier, of: entity, property: attribute.name)
        }
        for relationship in entity.relationships {
            checkRelationship(relationship, of: entity)
            checkModifier(relationship.versionHashModifier, of: entity, property: relationship.name)
        }
        checkConstraints(of: entity)
        checkIndexes(of: entity)
    }

    private mutating func checkModifier(_ modifier: String?, of entity: EntityDescription, property: String?) {
        if modifier == "" { report(entity.name, property, "the modifier of the hash is empty; give a text, or nil") }
    }

    /// Names begin with a letter or `_` and go on with letters, digits and `_`: what key paths can spell.
    mutating func checkName(_ name: String, of what: String, in entity: EntityDescription, property: String?) {
        let scalars = name.unicodeScalars
        guard let first = scalars.first else {
            return report(entity.name, property, "the name of \(what) is empty; give it one")
        }
        if !first.beginsName || !scalars.allSatisfy(\.continuesName) {
            report(
                entity.name, property,
                "'\(name)' is no name for \(what): it has to begin with a letter or _ "
                    + "and to go on with letters, digits and _"
            )
        }
        if name.utf8.count > ModelChecker.nameByteCountMax {
            report(
                entity.name, property,
                "the name of \(what) has \(name.utf8.count) bytes; "
                    + "at most \(ModelChecker.nameByteCountMax) are possible"
            )
        }
    }

    /// How many problems get hints.
    private static let hintedProblemCountMax = 100

    /// The longest name, in UTF-8 bytes: a store keeps names in keys, which are limited.
    static let nameByteCountMax = 200

    private mutating func checkSuperentity(of entity: EntityDescription) {
        guard let name = entity.superentity else { return }
        guard self.entity(named: name) != nil else {
            let hint = hint(name, among: descriptions.map(\.name))
            return report(entity.name, "superentity '\(name)' does not exist\(hint)")
        }
        let line = ancestry(of: entity)
        if line.last?.superentity == entity.name {
            let cycle = (line.map(\.name) + [entity.name]).joined(separator: " → ")
            report(entity.name, "inherits from itself: \(cycle); one of them needs another superentity or none")
        }
    }

    private mutating func checkPropertyNames(of entity: EntityDescription) {
        var owners: [String: String] = [:]
        for ancestor in ancestry(of: entity).dropFirst().reversed() {
            for name in ancestor.attributes.map(\.name) + ancestor.relationships.map(\.name) {
                owners[name] = ancestor.name
            }
        }
        var identifiers: Set<String> = []
        let properties =
            entity.attributes.map { ("an attribute", $0.name, $0.renamingIdentifier) }
            + entity.relationships.map { ("a relationship", $0.name, $0.renamingIdentifier) }
        for (what, name, identifier) in properties {
            checkName(name, of: what, in: entity, property: name.isEmpty ? nil : name)
            if name.uppercased() == "SELF" {
                report(entity.name, name, "this name stands for the object itself in predicates; choose another")
            }
            if let owner = owners[name], !name.isEmpty {
                let place = owner == entity.name ? "this entity" : "superentity '\(owner)'"
                report(entity.name, name, "\(place) has a property of this name already; rename one of them")
            }
            owners[name] = entity.name
            if identifier == "" {
                report(entity.name, name, "the renaming identifier is empty; give the old name, or nil")
            }
            if let identifier, !identifier.isEmpty, !identifiers.insert(identifier).inserted {
                report(
                    entity.name, name, "another property was called '\(identifier)' too; a property has one successor")
            }
        }
    }
}
