// A model with every kind of to-many relationship, all of them as live collections: written by hand, exactly as
// `@Entity` expands.

import Espalier

final class Member: ManagedObject {
    override class var entityDescription: EntityDescription {
        EntityDescription(
            "Member",
            properties: [
                EntityDescription._property("number", Int.self, defaultValue: 0),
                EntityDescription._property("boss", Member?.self, options: .init(inverse: "reports")),
                EntityDescription._property("reports", ToMany<Member>.self, options: .init(inverse: "boss")),
                EntityDescription._property("friends", ToMany<Member>.self, options: .init(inverse: "friends")),
                EntityDescription._property("skills", ToMany<Skill>.self, options: .init(inverse: "holders")),
                EntityDescription._property("marks", ToMany<Skill>.self),
                EntityDescription._property("duties", OrderedToMany<Duty>.self, options: .init(inverse: "member")),
                EntityDescription._property("ranking", OrderedToMany<Skill>.self, options: .init(inverse: "rankers")),
                EntityDescription._property("queue", OrderedToMany<Skill>.self),
            ])
    }
    var number: Int {
        get { _get("number", at: 0) }
        set { _set("number", at: 0, newValue) }
    }
    var boss: Member? {
        get { _get("boss", at: 1) }
        set { _set("boss", at: 1, newValue) }
    }
    var reports: ToMany<Member> {
        get { _get("reports", at: 2) }
        set { _set("reports", at: 2, newValue) }
    }
    var friends: ToMany<Member> {
        get { _get("friends", at: 3) }
        set { _set("friends", at: 3, newValue) }
    }
    var skills: ToMany<Skill> {
        get { _get("skills", at: 4) }
        set { _set("skills", at: 4, newValue) }
    }
    var marks: ToMany<Skill> {
        get { _get("marks", at: 5) }
        set { _set("marks", at: 5, newValue) }
    }
    var duties: OrderedToMany<Duty> {
        get { _get("duties", at: 6) }
        set { _set("duties", at: 6, newValue) }
    }
    var ranking: OrderedToMany<Skill> {
        get { _get("ranking", at: 7) }
        set { _set("ranking", at: 7, newValue) }
    }
    var queue: OrderedToMany<Skill> {
        get { _get("queue", at: 8) }
        set { _set("queue", at: 8, newValue) }
    }
}

final class Skill: ManagedObject {
    override class var entityDescription: EntityDescription {
        EntityDescription(
            "Skill",
            properties: [
                EntityDescription._property("number", Int.self, defaultValue: 0),
                EntityDescription._property("holders", ToMany<Member>.self, options: .init(inverse: "skills")),
                EntityDescription._property("rankers", ToMany<Member>.self, options: .init(inverse: "ranking")),
            ])
    }
    var number: Int {
        get { _get("number", at: 0) }
        set { _set("number", at: 0, newValue) }
    }
    var holders: ToMany<Member> {
        get { _get("holders", at: 1) }
        set { _set("holders", at: 1, newValue) }
    }
    var rankers: ToMany<Member> {
        get { _get("rankers", at: 2) }
        set { _set("rankers", at: 2, newValue) }
    }
}

final class Duty: ManagedObject {
    override class var entityDescription: EntityDescription {
        EntityDescription(
            "Duty",
            properties: [
                EntityDescription._property("number", Int.self, defaultValue: 0),
                EntityDescription._property("member", Member?.self, options: .init(inverse: "duties")),
            ])
    }
    var number: Int {
        get { _get("number", at: 0) }
        set { _set("number", at: 0, newValue) }
    }
    var member: Member? {
        get { _get("member", at: 1) }
        set { _set("member", at: 1, newValue) }
    }
}

/// All classes of the model.
let teamClasses: [ManagedObject.Type] = [Member.self, Skill.self, Duty.self]
