// One element of a model file as a value: its kind, its attributes in order, its children in order.
//
// Invariants
//   1. The line of an element is not part of its value: elements from different lines can be equal.

/// An element of a model file.
public struct ModelElement: Sendable {
    /// The kinds of elements; the raw value is the element's name in the file.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// The model as a whole.
        case model
        /// An entity.
        case entity
        /// An attribute of an entity, or a part of a composite.
        case attribute
        /// A relationship of an entity.
        case relationship
        /// A request that appears as a property of an entity.
        case fetchedProperty
        /// A request of the model, or of a fetched property.
        case fetchRequest
        /// A named selection of entities.
        case configuration
        /// An entity of a configuration.
        case memberEntity
        /// An index of an entity.
        case fetchIndex
        /// A part of an index.
        case fetchIndexElement
        /// The uniqueness constraints of an entity.
        case uniquenessConstraints
        /// One uniqueness constraint.
        case uniquenessConstraint
        /// A property of a uniqueness constraint.
        case constraint
        /// The indexes of an entity, in older files.
        case compoundIndexes
        /// One index, in older files.
        case compoundIndex
        /// A property of an index, in older files.
        case index
        /// A type of composite attributes.
        case composite
        /// The application's own texts for a part of the model.
        case userInfo
        /// One of these texts.
        case entry
        /// The positions of entities in the editor's drawing.
        case elements
        /// The position of one entity.
        case element
    }

    /// One attribute of an element.
    public struct Attribute: Sendable, Hashable {
        /// Its name.
        public let name: String
        /// Its value, with all references replaced by their characters.
        public var value: String

        /// Makes an attribute.
        public init(_ name: String, _ value: String) { (self.name, self.value) = (name, value) }
    }

    /// The kind of the element.
    public let kind: Kind
    /// Its attributes, in the order of the file.
    public var attributes: [Attribute]
    /// The child elements, in the order of the file.
    public var children: [ModelElement]
    /// The line on which the element begins, from 1; `nil` if it was made in code.
    public let line: Int?

    /// Makes an element in code.
    public init(_ kind: Kind, _ attributes: [Attribute] = [], children: [ModelElement] = []) {
        self.init(kind, attributes, children: children, line: nil)
    }

    init(_ kind: Kind, _ attributes: [Attribute], children: [ModelElement], line: Int?) {
        (self.kind, self.attributes, self.children, self.line) = (kind, attributes, children, line)
    }

    /// The value of an attribute; `nil` if it is missing.
    ///
    /// A new attribute is appended.
    public subscript(_ name: String) -> String? {
        get { attributes.first { $0.name == name }?.value }
        set {
            if let index = attributes.firstIndex(where: { $0.name == name }) {
                if let newValue { attributes[index].value = newValue } else { attributes.remove(at: index) }
            } else if let newValue {
                attributes.append(Attribute(name, newValue))
            }
        }
    }

    /// The children of one kind.
    public func children(_ kind: Kind) -> [ModelElement] { children.filter { $0.kind == kind } }

    /// The kind with the element's name in the file, such as `entity 'Person'`.
    var label: String {
        let name = self["name"] ?? self["property"] ?? self["value"] ?? self["key"]
        return kind.rawValue + (name.map { " '\($0.shortened)'" } ?? "")
    }
}

extension ModelElement: Hashable {
    /// Whether kind, attributes and children are equal; lines are ignored.
    public static func == (left: ModelElement, right: ModelElement) -> Bool {
        left.kind == right.kind && left.attributes == right.attributes && left.children == right.children
    }

    /// Hashes kind, attributes and children.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(kind)
        hasher.combine(attributes)
        hasher.combine(children)
    }
}
