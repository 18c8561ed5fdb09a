//! A strict little reader of the pages: elements, attributes and texts, and whether every element is closed in order.

use std::collections::BTreeMap;

/// Elements that never have content, as the standard lists them.
const VOID: [&str; 4] = ["meta", "br", "hr", "link"];
/// Elements whose end may be left out: another of these, or the end of what holds them, ends them.
const OPTIONAL: [&str; 5] = ["td", "th", "tr", "li", "thead"];

/// One element with what stands in it.
#[derive(Clone, Debug, Default)]
pub(super) struct Element {
    pub(super) name: String,
    pub(super) attributes: BTreeMap<String, String>,
    pub(super) children: Vec<Node>,
}

/// What stands in an element.
#[derive(Clone, Debug)]
pub(super) enum Node {
    Element(Element),
    Text(String),
}

impl Element {
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.attributes.get(name).map(String::as_str)
    }

    /// All text in it.
    pub(super) fn text(&self) -> String {
        let of = |node: &Node| match node {
            Node::Element(e) => e.text(),
            Node::Text(text) => text.clone(),
        };
        self.children.iter().map(of).collect()
    }

    /// The text that stands in it directly.
    pub(super) fn own_text(&self) -> String {
        let mut own = String::new();
        for node in &self.children {
            if let Node::Text(text) = node {
                own.push_str(text);
            }
        }
        own
    }

    pub(super) fn elements(&self) -> impl Iterator<Item = &Element> {
        self.children.iter().filter_map(|node| match node {
            Node::Element(e) => Some(e),
            Node::Text(_) => None,
        })
    }

    /// It and everything below it.
    pub(super) fn all(&self) -> Vec<&Element> {
        let mut list = vec![self];
        self.elements().for_each(|e| list.extend(e.all()));
        list
    }

    pub(super) fn find(&self, name: &str) -> Vec<&Element> {
        self.all().into_iter().filter(|e| e.name == name).collect()
    }
}

/// Reads a page; everything that is not as it should be is an error.
pub(super) fn read(page: &str) -> Result<Element, String> {
    let mut rest = page.strip_prefix("<!doctype html>\n").ok_or("no doctype")?;
    let mut open: Vec<Element> = vec![Element::default()];
    while !rest.is_empty() {
        let Some(tag) = rest.strip_prefix('<') else {
            let (text, behind) = rest.split_at(rest.find('<').unwrap_or(rest.len()));
            open.last_mut().unwrap().children.push(Node::Text(decoded(text)?));
            rest = behind;
            continue;
        };
        let end = tag.find('>').ok_or("a tag without end")?;
        let (inside, behind) = (&tag[..end], &tag[end + 1..]);
        rest = behind;
        if let Some(name) = inside.strip_prefix('/') {
            close(&mut open, name)?;
            continue;
        }
        let element = element(inside)?;
        while OPTIONAL.contains(&open.last().unwrap().name.as_str())
            && ends(&element.name, &open.last().unwrap().name)
        {
            pop(&mut open);
        }
        if inside.ends_with('/') || VOID.contains(&element.name.as_str()) {
            open.last_mut().unwrap().children.push(Node::Element(element));
        } else if ["script", "style"].contains(&element.name.as_str()) {
            let end = rest.find(&format!("</{}>", element.name)).ok_or("a script without end")?;
            let mut element = element;
            element.children.push(Node::Text(rest[..end].to_owned()));
            rest = &rest[end + element.name.len() + 3..];
            open.last_mut().unwrap().children.push(Node::Element(element));
        } else {
            open.push(element);
        }
    }
    if open.len() != 1 {
        return Err(format!("{} is never closed", open.last().unwrap().name));
    }
    Ok(open.remove(0))
}

/// A new element ends an open one whose end may be left out.
fn ends(new: &str, open: &str) -> bool {
    match open {
        "td" | "th" => ["td", "th", "tr"].contains(&new),
        other => other == new,
    }
}

fn pop(open: &mut Vec<Element>) {
    let done = open.pop().unwrap();
    open.last_mut().unwrap().children.push(Node::Element(done));
}

fn close(open: &mut Vec<Element>, name: &str) -> Result<(), String> {
    while open.len() > 1
        && open.last().unwrap().name != name
        && OPTIONAL.contains(&open.last().unwrap().name.as_str())
    {
        pop(open);
    }
    if open.len() < 2 || open.last().unwrap().name != name {
        return Err(format!("</{name}> closes {}", open.last().unwrap().name));
    }
    pop(open);
    Ok(())
}

fn element(inside: &str) -> Result<Element, String> {
    let inside = inside.trim_end_matches('/');
    let name = inside.split_whitespace().next().ok_or("an empty tag")?;
    if !name.chars().all(|c| c.is_ascii_alphanumeric()) {
        return Err(format!("<{name}> is no element"));
    }
    let mut element = Element { name: name.to_owned(), ..Element::default() };
    let mut rest = inside[name.len()..].trim_start();
    while !rest.is_empty() {
        let name = &rest[..rest.find(['=', ' ']).unwrap_or(rest.len())];
        let behind = &rest[name.len()..];
        let Some(quoted) = behind.strip_prefix("=\"") else {
            return Err(format!("{name} has no quoted value: {inside}"));
        };
        let value = &quoted[..quoted.find('"').ok_or("an attribute without end")?];
        if element.attributes.insert(name.to_owned(), decoded(value)?).is_some() {
            return Err(format!("{name} stands twice in <{inside}>"));
        }
        rest = quoted[value.len() + 1..].trim_start();
    }
    Ok(element)
}

/// Text with its escapes undone; a bare ampersand is an error.
fn decoded(text: &str) -> Result<String, String> {
    let mut parts = text.split('&');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once(';').ok_or_else(|| format!("a bare & in front of {part:?}"))?;
        out.push(match name {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "#39" => '\'',
            other => return Err(format!("&{other}; is not known")),
        });
        out.push_str(rest);
    }
    Ok(out)
}

#[test]
fn the_reader_refuses_what_is_not_well_formed() {
    let page = |body: &str| read(&format!("<!doctype html>\n<p>{body}</p>"));
    assert!(
        page("<b>x</b> &amp; <span a=\"1\">y</span><table><tbody><tr><td>1<td>2<tr><td>3</tbody></table>")
            .is_ok()
    );
    for bad in [
        "<b>",
        "</b>",
        "<b><i></b></i>",
        "a & b",
        "<b x=1>y</b>",
        "<b x=\"1\" x=\"2\">y</b>",
        "&nope;",
        "<3>",
    ] {
        assert!(page(bad).is_err(), "{bad}");
    }
}
