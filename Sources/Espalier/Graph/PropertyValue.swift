// The value of a property of any kind, for access by name.

public import EspalierModel

/// The value of a property in dynamic access.
public enum PropertyValue {
    /// The value of an attribute.
    case attribute(AttributeValue)
    /// The destination of a to-one relationship.
    case toOne(ManagedObject?)
    /// The destinations of a to-many relationship, in their stored order if it is ordered.
    case toMany([ManagedObject])
}

extension PropertyValue: Equatable {
    /// Whether both are the same value, or the same objects in the same order.
    public static func == (left: PropertyValue, right: PropertyValue) -> Bool {
        switch (left, right) {
        case (.attribute(let left), .attribute(let right)): left == right
        case (.toOne(let left), .toOne(let right)): left === right
        case (.toMany(let left), .toMany(let right)): left.elementsEqual(right, by: ===)
        default: false
        }
    }
}
