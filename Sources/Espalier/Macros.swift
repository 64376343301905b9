// The macros of typed model classes: `@Entity` and the marks on its properties.

public import EspalierModel

/// Makes a class an entity of the model: every stored `var` becomes an attribute or a relationship.
///
///     @Entity final class Track: ManagedObject {
///         var name: String = ""
///         var composer: String?
///         @Relationship(inverse: \Album.tracks) var album: Album?
///         var playlists: ToMany<Playlist>
///     }
///
/// A property of a type that is `AttributeConvertible`, or an optional of one, is an attribute; of `T?`, `ToMany<T>`
/// and `OrderedToMany<T>`, where `T` is an entity's class, it is a to-one, a to-many and an ordered to-many
/// relationship. So it is as `Set<T>` and `[T]`, whose values are all destinations at once: each change of such a
/// property, as `insert` and `append`, takes O(destinations). Computed and static properties stay what they are. A
/// default value belongs to the model: it is computed once.
///
/// - Parameters:
///   - isAbstract: Whether no object may be of exactly this class.
///   - uniquenessConstraints: Groups of properties whose values together must be unique (MD-12).
///   - indexes: Indexes besides those of `@Attribute(.indexed)`.
///   - originalName: The name in an older version of the model (MD-33).
@attached(member, names: named(entityName), named(entityDescription))
@attached(memberAttribute)
public macro Entity(
    isAbstract: Bool = false, uniquenessConstraints: [[String]] = [], indexes: [EntityDescription.Index] = [],
    originalName: String? = nil
) = #externalMacro(module: "EspalierMacros", type: "EntityMacro")

/// Reads and writes a property through the object's context. For @Entity only.
@attached(accessor)
public macro _EntityProperty(at index: Int) = #externalMacro(module: "EspalierMacros", type: "PropertyAccessorMacro")

/// What `@Attribute` can say about an attribute.
public enum AttributeOption: Sendable, Hashable {
    /// An index is kept for it.
    case indexed
    /// No two objects have the same value.
    case unique
}

/// Says more about an attribute of an `@Entity` class.
///
/// - Parameters:
///   - options: Written out, as in `.indexed, .unique`.
///   - originalName: The name in an older version of the model (MD-33).
@attached(peer)
public macro Attribute(_ options: AttributeOption..., originalName: String? = nil) =
    #externalMacro(module: "EspalierMacros", type: "PropertyMarkMacro")

/// Keeps an attribute of an `@Entity` class in the object only: it is tracked, never stored (MO-40).
@attached(peer)
public macro Transient() = #externalMacro(module: "EspalierMacros", type: "PropertyMarkMacro")

/// Says more about a relationship of an `@Entity` class.
///
/// The relationship back is named by a key path at one end, or by a text at one end or both. A relationship that is
/// its own inverse needs the text: key paths that lead to each other, or to themselves, are a circle that the
/// compiler refuses. Either way it is an error if the destination has no such property.
///
///     @Entity final class Person: ManagedObject {
///         @Relationship(inverse: "friends") var friends: ToMany<Person>
///         @Relationship(inverse: \Person.reports) var boss: Person?
///         var reports: ToMany<Person>
///     }
///
/// - Parameters:
///   - inverse: The relationship back, written out as a key path of one property such as `\Album.tracks`, or as its
///     name such as `"tracks"` (MD-30).
///   - deleteRule: What happens to the destinations when the object is deleted.
///   - isRequired: Whether it must not be empty when saved.
///   - minimum: The least number of destinations; 0 = no limit (MD-29).
///   - maximum: The greatest number of destinations; `nil` = no limit.
///   - originalName: The name in an older version of the model (MD-33).
@attached(peer)
public macro Relationship(
    inverse: Any? = nil, deleteRule: DeleteRule = .nullify, isRequired: Bool = false, minimum: Int = 0,
    maximum: Int? = nil, originalName: String? = nil
) = #externalMacro(module: "EspalierMacros", type: "PropertyMarkMacro")
