// The parts of an XML document that model files and property lists use: elements, attributes in order, text.
//
// Invariants
//   1. Attributes keep the order of the file, and their names within an element are distinct.
//   2. Elements are nested at most `XMLReader.depthMax` deep, so recursion over `children` is safe.

/// One attribute of an element.
struct XMLAttribute {
    let name: String
    let value: String
}

/// One element with its attributes, text and children.
struct XMLElement {
    let name: String
    var attributes: [XMLAttribute] = []
    var children: [XMLElement] = []
    /// The characters between its children, with references replaced.
    var text = ""
    /// The line on which its tag begins, from 1.
    let line: Int
}
