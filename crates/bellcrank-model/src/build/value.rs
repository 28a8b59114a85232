//! What the fields of elements hold: numbers and expressions, vectors, points, names.
//!
//! Each type takes what one would write by hand, through `Into`: a number, an expression in quotes, an array of either.

use super::bodies::{Table, TablePairs, TableVector};
use bellcrank_math::{Quat, Vec3};
use std::ops::{Add, Div, Mul, Neg, Sub};

/// A value of the model file.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number.
    Number(f64),
    /// A whole number.
    Integer(i64),
    /// `true` or `false`.
    Flag(bool),
    /// A text, an expression or a name.
    Text(String),
    /// A list.
    List(Vec<Value>),
    /// A table, with its keys in order.
    Table(Vec<(String, Value)>),
}

impl From<bool> for Value {
    fn from(flag: bool) -> Value {
        Value::Flag(flag)
    }
}

/// A list of anything that a type takes alone.
fn list<T, I: IntoIterator>(items: I) -> Value
where
    T: From<I::Item> + Into<Value>,
{
    Value::List(items.into_iter().map(|item| T::from(item).into()).collect())
}

/// Wraps a [`Value`] in a type of its own.
macro_rules! wrapped {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name(Value);

        impl From<$name> for Value {
            fn from(value: $name) -> Value {
                value.0
            }
        }
    )*};
}

wrapped! {
    /// A number, an expression of parameters (of inputs and `t`, where a field allows it), or a function of time from a file.
    Scalar;
    /// A vector: two components in the plane, three in space; an axial one, such as a torque, has one in the plane.
    Vector;
    /// One or several points or directions.
    Points;
    /// One or several numbers.
    Numbers;
    /// Rows of two numbers, or a table of them from a file.
    Pairs;
    /// A square matrix, its diagonal, or its one number.
    Matrix;
    /// A rotation, from the body to the world.
    Orientation;
    /// A word or a name.
    Text;
}

impl From<f64> for Scalar {
    fn from(x: f64) -> Scalar {
        Scalar(Value::Number(x))
    }
}

macro_rules! whole_numbers {
    ($($type:ty)*) => {$(
        impl From<$type> for Scalar {
            fn from(n: $type) -> Scalar {
                Scalar(Value::Integer(n as i64))
            }
        }
    )*};
}
whole_numbers!(i32 i64 u32 usize);

impl From<&str> for Scalar {
    fn from(expression: &str) -> Scalar {
        Scalar(Value::Text(expression.to_string()))
    }
}

impl From<String> for Scalar {
    fn from(expression: String) -> Scalar {
        Scalar(Value::Text(expression))
    }
}

impl From<&Scalar> for Scalar {
    fn from(x: &Scalar) -> Scalar {
        x.clone()
    }
}

impl From<Table> for Scalar {
    fn from(table: Table) -> Scalar {
        Scalar(table.into())
    }
}

impl Scalar {
    /// The parameter or input of a name.
    pub(super) fn symbol(name: &str) -> Scalar {
        Scalar(Value::Text(name.to_string()))
    }

    /// Time, in s.
    pub fn time() -> Scalar {
        Scalar::symbol("t")
    }

    /// A function of expressions applied to this one, such as `sin`.
    pub fn apply(&self, function: &str) -> Scalar {
        Scalar(Value::Text(format!("{function}({})", self.text())))
    }

    /// The text of the expression.
    fn text(&self) -> String {
        match &self.0 {
            Value::Number(x) => format!("{x:?}"),
            Value::Integer(n) => n.to_string(),
            Value::Text(text) => text.clone(),
            // the reader tells of it: a table has no place in an expression
            other => format!("{other:?}"),
        }
    }

    fn join(&self, operator: char, other: &Scalar) -> Scalar {
        Scalar(Value::Text(format!("({}) {operator} ({})", self.text(), other.text())))
    }
}

macro_rules! operators {
    ($($trait:ident $method:ident $operator:literal;)*) => {$(
        impl<T: Into<Scalar>> $trait<T> for Scalar {
            type Output = Scalar;
            fn $method(self, other: T) -> Scalar {
                self.join($operator, &other.into())
            }
        }
        impl<T: Into<Scalar>> $trait<T> for &Scalar {
            type Output = Scalar;
            fn $method(self, other: T) -> Scalar {
                self.join($operator, &other.into())
            }
        }
        impl $trait<Scalar> for f64 {
            type Output = Scalar;
            fn $method(self, other: Scalar) -> Scalar {
                Scalar::from(self).join($operator, &other)
            }
        }
        impl $trait<&Scalar> for f64 {
            type Output = Scalar;
            fn $method(self, other: &Scalar) -> Scalar {
                Scalar::from(self).join($operator, other)
            }
        }
    )*};
}
operators! {
    Add add '+';
    Sub sub '-';
    Mul mul '*';
    Div div '/';
}

impl Neg for Scalar {
    type Output = Scalar;
    fn neg(self) -> Scalar {
        Scalar(Value::Text(format!("-({})", self.text())))
    }
}

/// Types that take an array of components.
macro_rules! components {
    ($($name:ident)*) => {$(
        impl<T: Into<Scalar>, const N: usize> From<[T; N]> for $name {
            fn from(items: [T; N]) -> $name {
                $name(Value::List(items.map(|item| item.into().into()).to_vec()))
            }
        }
        impl<T: Into<Scalar>> From<Vec<T>> for $name {
            fn from(items: Vec<T>) -> $name {
                $name(Value::List(items.into_iter().map(|item| item.into().into()).collect()))
            }
        }
        impl From<Vec3> for $name {
            fn from(v: Vec3) -> $name {
                $name::from(v.0)
            }
        }
    )*};
}
components!(Vector Numbers);

/// Types in which one number stands alone.
macro_rules! alone {
    ($($name:ident)*) => {$(
        impl From<f64> for $name {
            fn from(x: f64) -> $name {
                $name(Value::Number(x))
            }
        }
        impl From<i32> for $name {
            fn from(n: i32) -> $name {
                $name(Value::Integer(n.into()))
            }
        }
        impl From<&str> for $name {
            fn from(expression: &str) -> $name {
                $name(Value::Text(expression.to_string()))
            }
        }
        impl From<Scalar> for $name {
            fn from(x: Scalar) -> $name {
                $name(x.0)
            }
        }
    )*};
}
alone!(Vector Numbers Matrix);

impl From<Table> for Vector {
    fn from(table: Table) -> Vector {
        Vector(table.into())
    }
}

impl From<TableVector> for Vector {
    fn from(table: TableVector) -> Vector {
        Vector(table.into())
    }
}

/// A point, or a list of points, from plain numbers, from expressions or from vectors.
macro_rules! points {
    ($($component:ty)*) => {$(
        impl<const N: usize> From<[$component; N]> for Points {
            fn from(point: [$component; N]) -> Points {
                Points(Vector::from(point).0)
            }
        }
        impl<const N: usize, const K: usize> From<[[$component; N]; K]> for Points {
            fn from(points: [[$component; N]; K]) -> Points {
                Points(list::<Vector, _>(points))
            }
        }
    )*};
}
points!(f64 &str Scalar);

impl From<Vector> for Points {
    fn from(point: Vector) -> Points {
        Points(point.0)
    }
}

impl From<Vec3> for Points {
    fn from(point: Vec3) -> Points {
        Points::from(point.0)
    }
}

impl From<Vec<Vector>> for Points {
    fn from(points: Vec<Vector>) -> Points {
        Points(list::<Vector, _>(points))
    }
}

impl<const N: usize> From<[Vector; N]> for Points {
    fn from(points: [Vector; N]) -> Points {
        Points(list::<Vector, _>(points))
    }
}

impl From<Vec<[f64; 2]>> for Pairs {
    fn from(rows: Vec<[f64; 2]>) -> Pairs {
        Pairs(list::<Vector, _>(rows))
    }
}

impl<const N: usize> From<[[f64; 2]; N]> for Pairs {
    fn from(rows: [[f64; 2]; N]) -> Pairs {
        Pairs(list::<Vector, _>(rows))
    }
}

impl From<TablePairs> for Pairs {
    fn from(table: TablePairs) -> Pairs {
        Pairs(table.into())
    }
}

impl<const N: usize> From<[f64; N]> for Matrix {
    /// The diagonal.
    fn from(diagonal: [f64; N]) -> Matrix {
        Matrix(Vector::from(diagonal).0)
    }
}

impl<const N: usize> From<[Scalar; N]> for Matrix {
    /// The diagonal.
    fn from(diagonal: [Scalar; N]) -> Matrix {
        Matrix(Vector::from(diagonal).0)
    }
}

impl<const N: usize> From<[[f64; N]; N]> for Matrix {
    /// The rows.
    fn from(rows: [[f64; N]; N]) -> Matrix {
        Matrix(list::<Vector, _>(rows))
    }
}

impl Orientation {
    /// A turn about an axis, by an angle in rad.
    pub fn turn(axis: impl Into<Vector>, angle: impl Into<Scalar>) -> Orientation {
        let entries = [("axis", axis.into().into()), ("angle", angle.into().into())];
        Orientation(Value::Table(entries.map(|(key, value)| (key.to_string(), value)).to_vec()))
    }
}

impl Orientation {
    /// Cardan or Euler angles, in rad: three turns about axes of the body, such as `"zyx"`, each after those before it.
    pub fn angles<T: Into<Scalar>>(order: &str, angles: [T; 3]) -> Orientation {
        let entries = [("order", Value::Text(order.to_string())), ("angles", Numbers::from(angles).into())];
        Orientation(Value::Table(entries.map(|(key, value)| (key.to_string(), value)).to_vec()))
    }
}

impl From<Quat> for Orientation {
    fn from(q: Quat) -> Orientation {
        Orientation::from(q.0)
    }
}

impl From<[f64; 4]> for Orientation {
    /// A unit quaternion, scalar part first.
    fn from(quaternion: [f64; 4]) -> Orientation {
        Orientation(Vector::from(quaternion).0)
    }
}

impl From<[[f64; 3]; 3]> for Orientation {
    /// The rows of a rotation matrix.
    fn from(rows: [[f64; 3]; 3]) -> Orientation {
        Orientation(list::<Vector, _>(rows))
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Text {
        Text(Value::Text(text.to_string()))
    }
}

impl From<String> for Text {
    fn from(text: String) -> Text {
        Text(Value::Text(text))
    }
}

impl<const N: usize> From<[&str; N]> for Text {
    /// Several names.
    fn from(names: [&str; N]) -> Text {
        Text(list::<Text, _>(names))
    }
}

/// A name that other elements refer to.
macro_rules! references {
    ($($(#[$doc:meta])* $name:ident, $(#[$pair_doc:meta])* $pair:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name(std::borrow::Cow<'static, str>);

        impl $name {
            /// The one of a name.
            pub fn new(name: impl Into<String>) -> $name {
                $name(name.into().into())
            }
            /// The name.
            pub fn name(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(name: &str) -> $name {
                $name::new(name)
            }
        }

        impl From<&$name> for $name {
            fn from(name: &$name) -> $name {
                name.clone()
            }
        }

        impl From<$name> for Value {
            fn from(name: $name) -> Value {
                Value::Text(name.0.into_owned())
            }
        }

        $(#[$pair_doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $pair(pub [$name; 2]);

        impl<T: Into<$name>> From<[T; 2]> for $pair {
            fn from(pair: [T; 2]) -> $pair {
                $pair(pair.map(Into::into))
            }
        }

        impl<A: Into<$name>, B: Into<$name>> From<(A, B)> for $pair {
            fn from((first, second): (A, B)) -> $pair {
                $pair([first.into(), second.into()])
            }
        }

        impl From<$pair> for Value {
            fn from(pair: $pair) -> Value {
                Value::List(pair.0.map(Value::from).to_vec())
            }
        }
    )*};
}

references! {
    /// A body of the model, or the ground.
    BodyRef,
    /// Two bodies, in the order in which a joint or force sees them.
    Bodies;
    /// A joint of the model.
    JointRef,
    /// Two joints, in the order in which a coupling sees them.
    Joints;
}

impl BodyRef {
    pub(super) const fn ground() -> BodyRef {
        BodyRef(std::borrow::Cow::Borrowed("ground"))
    }
}
