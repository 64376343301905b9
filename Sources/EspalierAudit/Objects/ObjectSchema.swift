// ObjectFormat.md, sections 2 and 3: the trees that the model requires, and the meaning of entity numbers and layouts.
// Rules 101 to 106.

/// An index or a uniqueness constraint.
struct KeyGroup {
    /// A property of a group: an attribute of this type, or a to-one relationship if `kind` is `nil`.
    struct Element {
        let property: String
        let kind: AttributeKind?
        let isAscending: Bool
    }

    let tree: String
    let entity: Int
    let isUnique: Bool
    /// Empty if entries do not follow from bytes alone: texts are folded, rows are chosen by a condition, or values
    /// are those of an expression.
    let elements: [Element]

    /// Whether the entries of the tree can be compared with the rows.
    var isComparable: Bool { !elements.isEmpty }
}

/// A to-many relationship and its trees.
struct LinkList {
    let tree: String
    let relationship: ObjectModel.Relationship
    let inverse: ObjectModel.Relationship?

    /// The tree of the reverse links; only a relationship without an inverse has one.
    let ownerTree: String?
    var isDerived: Bool { inverse?.isToMany == false }
}

/// A layout, decoded from its record.
struct LayoutRecord {
    /// The content number that marks a to-one relationship.
    private static let reference: UInt16 = 0xFFFF

    struct Field {
        let name: String
        /// `nil` for a to-one relationship.
        let kind: AttributeKind?
    }

    let entityNumber: UInt16
    let fields: [Field]
    /// The row with the values of attributes that the layout lacks; empty if they are all null.
    let defaultRow: [UInt8]

    init(_ bytes: [UInt8]) throws(Breach) {
        guard bytes.count >= 4 else { throw Breach(104, 0, "a layout record has only \(bytes.count) bytes") }
        entityNumber = UInt16(bytes.u16(0))
        var fields: [Field] = []
        var names: Set<String> = []
        var offset = 4
        for _ in 0..<bytes.u16(2) {
            let (content, end) = (UInt16(bytes.u16(offset)), offset + 4 + bytes.u16(offset + 2))
            guard end <= bytes.count, let name = String(validating: bytes[(offset + 4)..<end], as: UTF8.self) else {
                throw Breach(104, offset, "the name of a field is not UTF-8, or extends beyond the record")
            }
            let kind = AttributeKind(rawValue: content)
            guard content == Self.reference || kind?.isStored == true else {
                throw Breach(104, offset, "\(content) is not a possible content of field \(name)")
            }
            guard names.insert(name).inserted else { throw Breach(104, offset, "two fields have the name \(name)") }
            fields.append(Field(name: name, kind: kind))
            offset = end
        }
        self.fields = fields
        defaultRow = Array(bytes[offset...])
    }
}

/// The content of the tree `schema`: format, model, entity numbers and layouts.
struct ObjectSchema {
    static let treeName = "schema"
    static let countersName = "counters"
    static let metadataName = "metadata"
    static let formats: ClosedRange<UInt16> = 1...2
    private static let prefixes = ["rows:", "index:", "unique:", "links:", "owners:"]

    let format: UInt16
    let model: ObjectModel
    /// The index of the entity by entity number; `nil` for 0, and for entities that the model lacks.
    private(set) var entities: [Int?] = [nil]
    /// The entity number by index of the entity; 0 for an entity without a number.
    private(set) var numbers: [UInt16]
    /// The layout by layout number; numbers begin at 1.
    private(set) var layouts: [LayoutRecord?] = [nil]
    private(set) var groups: [KeyGroup] = []
    private(set) var lists: [LinkList] = []
    /// By position of a list, the position of the list at the other end; `nil` where there is none.
    private(set) var inverseLists: [Int?] = []
    /// The position of a list by the name of its tree.
    private var listByTree: [String: Int] = [:]

    /// Reads the entries of the tree `schema`.
    init(_ records: [[UInt8]: [UInt8]], _ report: (_ key: String, Breach) -> Void) throws(Breach) {
        guard let format = records[Array("format".utf8)], format.count == 2 else {
            throw Breach(101, 0, "the record of the format is missing")
        }
        self.format = UInt16(format.u16(0))
        guard Self.formats.contains(self.format) else {
            throw Breach(101, 0, "this program does not know format \(self.format)")
        }
        guard let model = records[Array("model".utf8)] else { throw Breach(102, 0, "the model is missing") }
        self.model = try ObjectModel(try ModelBytes.entities(model))
        numbers = [UInt16](repeating: 0, count: self.model.entities.count)
        try readEntities(records)
        try readLayouts(records)
        let expected = 2 + entities.count - 1 + layouts.count - 1
        if records.count != expected {
            report("", Breach(105, 0, "the schema has \(records.count) records, but only \(expected) have a meaning"))
        }
        for index in self.model.entities.indices { try addTrees(of: index) }
        inverseLists = lists.map { $0.inverse.flatMap(list(of:)) }
    }

    private mutating func readEntities(_ records: [[UInt8]: [UInt8]]) throws(Breach) {
        while let name = records[Array("entity:\(entities.count)".utf8)] {
            guard entities.count <= UInt16.max, let name = String(validating: name, as: UTF8.self) else {
                throw Breach(
                    103, 0, "the name of entity number \(entities.count) is not UTF-8, or the number is too great")
            }
            let index = model.entity(named: name)
            if let index {
                guard numbers[index] == 0 else { throw Breach(103, 0, "entity \(name) has two numbers") }
                numbers[index] = UInt16(entities.count)
            }
            entities.append(index)
        }
        if let index = numbers.firstIndex(of: 0) {
            throw Breach(103, 0, "entity \(model.entities[index].name) has no number")
        }
    }

    private mutating func readLayouts(_ records: [[UInt8]: [UInt8]]) throws(Breach) {
        var hasLayout = [Bool](repeating: false, count: model.entities.count)
        while let bytes = records[Array("layout:\(layouts.count)".utf8)] {
            let record = try LayoutRecord(bytes)
            guard layouts.count <= UInt16.max, (1..<entities.count).contains(Int(record.entityNumber)) else {
                throw Breach(
                    104, 0, "layout \(layouts.count) has entity number \(record.entityNumber), which does not exist")
            }
            if let entity = entities[Int(record.entityNumber)] { hasLayout[entity] = true }
            layouts.append(record)
        }
        for (index, entity) in model.entities.enumerated() where !hasLayout[index] && !entity.description.isAbstract {
            throw Breach(104, 0, "entity \(entity.name) has no layout")
        }
    }

    // MARK: Trees

    private mutating func addTrees(of index: Int) throws(Breach) {
        let entity = model.entities[index].description
        for attribute in entity.attributes where attribute.isIndexed {
            let elements = [(property: attribute.name, isAscending: true)]
            try addGroup("index:\(entity.name).\(attribute.name)", index, isUnique: false, elements)
        }
        for group in entity.indexes {
            let tree = "index:\(entity.name).\(group.name)"
            guard group.isPlain else {
                groups.append(KeyGroup(tree: tree, entity: index, isUnique: false, elements: []))
                continue
            }
            try addGroup(tree, index, isUnique: false, group.elements)
        }
        for constraint in entity.constraints {
            let elements = constraint.map { (property: $0, isAscending: true) }
            let name = constraint.joined(separator: ",")
            try addGroup("unique:\(entity.name).\(name)", index, isUnique: true, elements)
        }
        for relationship in model.relationships(declaredBy: index) where relationship.isToMany {
            let (name, inverse) = ("\(entity.name).\(relationship.name)", model.inverse(of: relationship))
            listByTree["links:" + name] = lists.count
            lists.append(
                LinkList(
                    tree: "links:" + name, relationship: relationship, inverse: inverse,
                    ownerTree: inverse == nil ? "owners:" + name : nil))
        }
    }

    private mutating func addGroup(
        _ tree: String, _ entity: Int, isUnique: Bool, _ elements: [(property: String, isAscending: Bool)]
    ) throws(Breach) {
        guard !elements.isEmpty else { throw Breach(102, 0, "\(tree) names no property") }
        var found: [KeyGroup.Element] = []
        for (name, isAscending) in elements {
            switch model.property(name, of: entity)?.property {
            case .attribute(let kind, isTransient: false)? where kind.isOrdered:
                found.append(KeyGroup.Element(property: name, kind: kind, isAscending: isAscending))
            case .relationship(let relationship)? where !relationship.isToMany:
                found.append(KeyGroup.Element(property: name, kind: nil, isAscending: isAscending))
            case .attribute?, .relationship?, nil:
                throw Breach(102, 0, "\(tree) names \(name), which is not a property with an order")
            }
        }
        groups.append(KeyGroup(tree: tree, entity: entity, isUnique: isUnique, elements: found))
    }

    /// The position of the list of a to-many relationship.
    private func list(of relationship: ObjectModel.Relationship) -> Int? {
        listByTree["links:\(model.entities[relationship.entity].name).\(relationship.name)"]
    }

    /// The position of the list at the other end; `nil` if the inverse is missing or is to-one.
    func list(backFrom relationship: ObjectModel.Relationship) -> Int? {
        guard let inverse = model.inverse(of: relationship), inverse.isToMany else { return nil }
        return list(of: inverse)
    }

    /// The name of the tree that holds the rows of a hierarchy.
    func rowTree(ofRoot root: Int) -> String { "rows:\(model.entities[root].name)" }

    /// Whether the prefix of the name makes rule 106 apply to the tree.
    static func isNameOfModel(_ name: String) -> Bool { prefixes.contains { name.hasPrefix($0) } }

    /// The index of the entity with this number.
    func entity(_ number: UInt16) -> Int? { Int(number) < entities.count ? entities[Int(number)] : nil }

    /// Whether a row with this entity number is allowed where `entity` is expected.
    func isConcrete(_ number: UInt16, kindOf entity: Int) -> Bool {
        guard let found = self.entity(number), !model.entities[found].description.isAbstract else { return false }
        return model.isKind(found, of: entity)
    }
}
