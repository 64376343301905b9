// The source of one property of a destination object.

public import EspalierModel

/// A rule by which a property of a destination object gets its value (Behaviour MG-08).
public struct PropertyMapping: Sendable {
    /// Computes the value of a property from a source object.
    public typealias Computation = @Sendable (_ source: ManagedObject, MigrationSession) throws -> PropertyValue

    enum Source: Sendable {
        /// An attribute of the source, or of an object that to-one relationships lead to, or an element of one.
        case keyPath(String)
        case constant(AttributeValue)
        case computed(reads: Set<String>, Computation)
        /// The successors of the objects that a path of relationships leads to.
        case following(String, through: String?)
        /// The objects that another mapping made from the same source.
        case made(by: String)
    }

    /// The name of the property of the destination entity.
    public let name: String
    let source: Source
    /// Whether the relationship has no rule of the application, and leads where the older one leads that it continues.
    private(set) var isContinuation = false
    /// The application's own texts, which the hooks of a policy find among the rules of their mapping.
    public var userInfo: [String: String] = [:]

    private init(_ name: String, _ source: Source) { (self.name, self.source) = (name, source) }

    /// An attribute that gets the value at `keyPath` of the source: `title`, `artist.name` across to-one relationships,
    /// or `home.town` in a composite.
    ///
    /// An element of a composite of the source that no rule copies is a loss, which must be allowed by its path.
    ///
    /// The value is converted to the attribute's type if it has an exact equal of that type; a value that has none
    /// refuses the migration, with the IDs of the rows. Without a value, a required attribute keeps its default value.
    public static func copy(_ name: String, from keyPath: String) -> PropertyMapping {
        PropertyMapping(name, .keyPath(keyPath))
    }

    /// An attribute that gets the same value in all objects.
    public static func constant(_ name: String, _ value: AttributeValue) -> PropertyMapping {
        PropertyMapping(name, .constant(value))
    }

    /// A property that code computes; relationships are computed after all mappings have made their objects.
    ///
    /// - Parameter properties: the properties of the source that the code reads. A property of a mapped entity that no
    ///   mapping reads is a loss, which must be allowed by its name.
    public static func computed(
        _ name: String, reading properties: Set<String>, _ computation: @escaping Computation
    ) -> PropertyMapping {
        PropertyMapping(name, .computed(reads: properties, computation))
    }

    /// A relationship that leads to the successors of the objects to which a path of relationships of the source leads.
    ///
    /// - Parameters:
    ///   - path: a relationship of the source, or several one after the other: `country.continent`. Across to-many
    ///     relationships it leads to each object once, in the order in which it is found.
    ///   - mapping: the name of the mapping whose objects are the successors; `nil` = those of any mapping, as far as
    ///     the relationship can lead to their entity. Others are left out.
    /// - Complexity: O(objects on the path) for each source object.
    public static func following(
        _ name: String, _ path: String, through mapping: String? = nil
    ) -> PropertyMapping {
        PropertyMapping(name, .following(path, through: mapping))
    }

    /// A relationship that leads to what another mapping made from the same source: to a part that was split off.
    public static func made(_ name: String, by mapping: String) -> PropertyMapping {
        PropertyMapping(name, .made(by: mapping))
    }

    /// The rule of a relationship without one, which continues a relationship of the source.
    static func continuing(_ name: String, _ relationship: String) -> PropertyMapping {
        var rule = following(name, relationship)
        rule.isContinuation = true
        return rule
    }

    /// The elements to which a path leads that begins with this attribute of the source; empty = it is copied as a
    /// whole; `nil` = another path or rule.
    func elementsCopied(from attribute: String) -> [String]? {
        guard case .keyPath(let path) = source else { return nil }
        let steps = path.split(separator: ".").map(String.init)
        return steps.first == attribute ? Array(steps.dropFirst()) : nil
    }

    /// The relationship of the source that is followed alone; `nil` = another rule.
    var followedRelationship: String? {
        if case .following(let path, _) = source, !path.contains(".") { path } else { nil }
    }

    /// Whether code of the application reads this property of the source.
    func isComputed(from name: String) -> Bool {
        if case .computed(let properties, _) = source { properties.contains(name) } else { false }
    }

    /// The properties of the source that the mapping reads.
    var reads: Set<String> {
        switch source {
        case .keyPath(let path), .following(let path, _): Set(path.split(separator: ".").prefix(1).map(String.init))
        case .computed(let properties, _): properties
        case .constant, .made: []
        }
    }
}
