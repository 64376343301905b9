// ObjectFormat.md, section 6: the positions of the fields in rows of one layout.

/// A field of a layout.
struct RowField {
    enum Part {
        case fixed, integer, reference, variable
    }

    let name: String
    /// `nil` for a to-one relationship.
    let kind: AttributeKind?
    let part: Part
    /// In the fixed part the offset in bytes; in the other parts the index of the field.
    let position: Int
    /// The width in the fixed part, in bytes; 0 in the other parts.
    let width: Int
    /// The offset from the end of the null bits in a row of format 1.
    let firstFormatOffset: Int

    static func home(of kind: AttributeKind?) -> (part: Part, width: Int) {
        switch kind {
        case nil: (.reference, 0)
        case .boolean: (.fixed, 1)
        case .integer16: (.fixed, 2)
        case .integer32, .float: (.fixed, 4)
        case .double, .date: (.fixed, 8)
        case .uuid: (.fixed, 16)
        case .decimal: (.fixed, 18)
        case .integer64: (.integer, 0)
        case .string, .uri, .binary, .transformable, .composite, .undefined, .objectID: (.variable, 0)
        }
    }
}

/// The data needed to read rows of one layout; all rows of a layout share one instance.
final class RowPlan {
    /// A group that the rows belong to.
    struct Group {
        /// The position of the group in the schema.
        let number: Int
        /// For each element the index of its field; `nil` where the layout lacks it.
        let fields: [Int?]
        /// For each element that the layout lacks, the index of its field in the default row.
        let defaults: [Int?]
    }
    /// A to-one relationship.
    struct Reference {
        let field: Int
        /// The index of the destination entity.
        let destination: Int
        /// The position in the schema of the list at the other end.
        let list: Int?
    }

    let number: UInt16
    let entity: Int
    let entityNumber: UInt16
    /// The row with the values of attributes that the layout lacks.
    let defaultRow: RowBytes?
    private(set) var fields: [RowField] = []
    private var fieldByName: [String: Int] = [:]
    private(set) var groups: [Group] = []
    private(set) var references: [Reference] = []
    private(set) var fixedByteCount = 0
    private(set) var integerCount = 0
    private(set) var referenceCount = 0
    private(set) var variableCount = 0
    /// The bytes of all fields of a row of format 1 except the variable ones.
    private(set) var firstFormatByteCount = 0

    var nullByteCount: Int { (fields.count + 7) / 8 }

    init(_ number: UInt16, _ layout: LayoutRecord, entity: Int, defaultRow: RowBytes?, _ schema: ObjectSchema) {
        (self.number, self.entity, entityNumber) = (number, entity, layout.entityNumber)
        self.defaultRow = defaultRow
        for field in layout.fields { add(field) }
        for (index, field) in fields.enumerated() where field.kind == nil {
            guard case .relationship(let relationship)? = schema.model.property(field.name, of: entity)?.property,
                !relationship.isToMany
            else { continue }
            references.append(
                Reference(
                    field: index, destination: relationship.destination, list: schema.list(backFrom: relationship)))
        }
        for (index, group) in schema.groups.enumerated()
        where group.isComparable && schema.model.isKind(entity, of: group.entity) {
            let positions = group.elements.map(position(of:))
            let defaults = zip(group.elements, positions).map { element, own in
                own == nil && element.kind != nil ? defaultRow?.plan.position(of: element) : nil
            }
            groups.append(Group(number: index, fields: positions, defaults: defaults))
        }
    }

    /// The index of the field that has the values of a group's element.
    private func position(of element: KeyGroup.Element) -> Int? {
        fieldByName[element.property].flatMap { fields[$0].kind == element.kind ? $0 : nil }
    }

    private func add(_ field: LayoutRecord.Field) {
        let (part, width) = RowField.home(of: field.kind)
        let position: Int
        switch part {
        case .fixed: (position, fixedByteCount) = (fixedByteCount, fixedByteCount + width)
        case .integer: (position, integerCount) = (integerCount, integerCount + 1)
        case .reference: (position, referenceCount) = (referenceCount, referenceCount + 1)
        case .variable: (position, variableCount) = (variableCount, variableCount + 1)
        }
        fieldByName[field.name] = fields.count
        fields.append(
            RowField(
                name: field.name, kind: field.kind, part: part, position: position, width: width,
                firstFormatOffset: firstFormatByteCount))
        switch part {
        case .fixed: firstFormatByteCount += width
        case .integer: firstFormatByteCount += 8
        case .reference: firstFormatByteCount += 10
        case .variable: break
        }
    }
}
