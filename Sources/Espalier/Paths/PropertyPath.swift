// The key path of one property beside its name: a key path has no names at run time, so `@Entity` writes them down.

/// A property's name and key paths.
///
/// For @Entity only.
public struct _PropertyPath: Sendable {
    /// The name of the property in the model.
    let name: String
    /// The key path from an object of the class: `\Album.title`.
    let path: any AnyKeyPath & Sendable
    /// The key path from an optional object, as it continues a chain: `\Album?.?.title`.
    let chained: any AnyKeyPath & Sendable
    /// Whether no store has values of the property.
    let isTransient: Bool

    /// The key paths of the property called `name`.
    public init(
        _ name: String, _ path: any AnyKeyPath & Sendable, _ chained: any AnyKeyPath & Sendable,
        isTransient: Bool = false
    ) {
        (self.name, self.path, self.chained, self.isTransient) = (name, path, chained, isTransient)
    }
}
