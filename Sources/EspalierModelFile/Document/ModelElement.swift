// One element of a model file as a value: its kind, its attributes in order, its children in order.
//
// Invariants
//   1. The line is where the element was read, and no part of what it says: elements of different lines can be equal.

/// An element of a model file.
public struct ModelElement: Sendable {
    /// What an element describes; the raw value is its name in the file.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// The model as a whole.
        case model
        /// An entity.
        case entity
        /// An attribute of an entity, or a part of a composite.
        case attribute
        /// A relationship of an entity.
        case relationship
        /// A request that looks like a property of an entity.
        case fetchedProperty
        /// A request of the model, or of a fetched property.
        case fetchRequest
        /// A named choice of entities.
        case configuration
        /// An entity of a configuration.
        case memberEntity
        /// An index of an entity.
        case fetchIndex
        /// A part of an index.
        case fetchIndexElement
        /// The uniqueness constraints of an entity.
        case uniquenessConstraints
        /// One of them.
        case uniquenessConstraint
        /// A property that takes part in one of them.
        case constraint
        /// The indexes of an entity in older files.
        case compoundIndexes
        /// One of them.
        case compoundIndex
        /// A property that takes part in one of them.
        case index
        /// A type of composite attributes.
        case composite
        /// Texts of the application's own.
        case userInfo
        /// One of them.
        case entry
        /// Where entities lie in the editor's drawing.
        case elements
        /// Where one of them lies.
        case element
    }

    /// One attribute of an element.
    public struct Attribute: Sendable, Hashable {
        /// Its name.
        public let name: String
        /// Its value, with all references replaced.
        public var value: String

        /// An attribute.
        public init(_ name: String, _ value: String) { (self.name, self.value) = (name, value) }
    }

    /// What it describes.
    public let kind: Kind
    /// Its attributes, in the order of the file.
    public var attributes: [Attribute]
    /// The elements in it, in the order of the file.
    public var children: [ModelElement]
    /// The line that it was read in, from 1; `nil` if it was made in code.
    public let line: Int?

    /// An element made in code.
    public init(_ kind: Kind, _ attributes: [Attribute] = [], children: [ModelElement] = []) {
        self.init(kind, attributes, children: children, line: nil)
    }

    init(_ kind: Kind, _ attributes: [Attribute], children: [ModelElement], line: Int?) {
        (self.kind, self.attributes, self.children, self.line) = (kind, attributes, children, line)
    }

    /// The value of an attribute, `nil` if it is not there; a new one comes last.
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

    /// `entity 'Person'`: what it describes, with the name that it has in the file.
    var label: String {
        let name = self["name"] ?? self["property"] ?? self["value"] ?? self["key"]
        return kind.rawValue + (name.map { " '\($0)'" } ?? "")
    }
}

extension ModelElement: Hashable {
    /// Whether both say the same, wherever they were read.
    public static func == (left: ModelElement, right: ModelElement) -> Bool {
        left.kind == right.kind && left.attributes == right.attributes && left.children == right.children
    }

    /// Hashes what the element says.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(kind)
        hasher.combine(attributes)
        hasher.combine(children)
    }
}
