// Why a value could not become the bytes of a transformable attribute, or the bytes a value.

/// An error of a transformable attribute (MD-24).
public enum AttributeTransformerError: Error, Sendable, Hashable, CustomStringConvertible {
    /// No transformer is registered under this name.
    case unregistered(name: String, known: [String])
    /// The name is Espalier's own, or empty.
    case reservedName(String)
    /// The transformer is for values of another type than the property.
    case wrongType(name: String, found: String, expected: String)
    /// The transformer has thrown an error with this text.
    case failed(name: String, reason: String)

    /// The error and the remedy.
    public var description: String {
        switch self {
        case .unregistered(let name, let known):
            "no transformer is registered under the name '\(name)'; register it with "
                + "AttributeTransformers.register(_:forName:) before objects are used"
                + (known.isEmpty ? "" : "; registered are \(known.joined(separator: ", "))")
        case .reservedName(let name):
            name.isEmpty
                ? "the name of a transformer is empty; give it one"
                : "the name '\(name)' belongs to Espalier; register the transformer under another name"
        case .wrongType(let name, let found, let expected):
            "the transformer '\(name)' is for values of type \(found), the property has type \(expected)"
        case .failed(let name, let reason): "the transformer '\(name)' has failed: \(reason)"
        }
    }
}
